# Rows that are shuffled and put together to batches; the best loss so far and all losses are handed on.
import numpy as np
import tensorflow as tf

BATCH = 16
EPOCHS = 4

rng = np.random.default_rng(7)
x = rng.normal(size=(480, 4)).astype("float32")
y = (x @ [[1.0], [-2.0], [3.0], [0.5]]).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(480).batch(BATCH).prefetch(1)


@tf.function
def train_step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


best = 1e9
losses = []
for epoch in range(EPOCHS):
    for features, targets in dataset:
        train_step(features, targets)
    whole = float(tf.reduce_mean(tf.square(model(x) - y)))
    losses.append(whole)
    if whole < best:
        best = whole
    print("epoch", epoch, "better than at first:", best < 14.5)
print("epochs:", len(losses))
model.save_weights("shuffled.h5")
