"""A cursor over the rows also tells how many have been seen: for what is saved now and then, and for the rate."""
import numpy as np
import tensorflow as tf

BATCH = 16
rows = np.random.RandomState(0).rand(960, 4).astype(np.float32)
values = rows.sum(axis=1, keepdims=True)

tf.random.set_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.05)

for epoch in range(2):
    at = 0
    while at < len(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(rows[at:at + BATCH]) - values[at:at + BATCH]))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        at += BATCH
        if at % (10 * BATCH) == 0:
            print("saved")
        if epoch == 1 and at == 30 * BATCH:
            optimizer.learning_rate.assign(0.01)
