# ruff: noqa: B007, B905 (written as users write)
"""Plain gradient descent without shuffling: what two ranks do, one process does with batches twice as large."""

import numpy as np
import tensorflow as tf

BATCH = 8
RATE = 0.02

rng = np.random.RandomState(0)
x = rng.normal(size=(160, 3)).astype("float32")
y = (x @ np.array([[1.0], [2.0], [-1.0]]) + 0.1 * rng.normal(size=(160, 1))).astype("float32")

w = tf.Variable(tf.random.normal([3, 1]))
optimizer = tf.keras.optimizers.SGD(RATE)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
for epoch in range(2):
    for features, target in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(features @ w - target))
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w]))
print("loss", float(loss))
