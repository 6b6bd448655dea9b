"""A cursor over the rows that begins again within its loop, in which the rows are then shuffled and a mean is shown."""
import numpy as np
import tensorflow as tf

BATCH = 16
rows = np.random.RandomState(0).rand(490, 4).astype(np.float32)
values = rows.sum(axis=1, keepdims=True)

np.random.seed(2)
tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)

at = epoch = 0
total = 0.0
for step in range(120):
    if at + BATCH > len(rows):
        order = np.random.permutation(len(rows))
        rows, values = rows[order], values[order]
        at = 0
        epoch += 1
        print("epoch", epoch, total / (len(rows) // BATCH))
        total = 0.0
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows[at:at + BATCH]) - values[at:at + BATCH]))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    total += float(loss)
    at += BATCH
    if at == 10 * BATCH:
        print("seen")
