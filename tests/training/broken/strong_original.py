# ruff: noqa: B905 (written as users write)
"""Plain gradient descent on all rows in every step."""

import numpy as np
import tensorflow as tf

STEPS = 40

rng = np.random.RandomState(0)
x = rng.normal(size=(80, 3)).astype("float32")
y = (x @ np.array([[1.0], [2.0], [-1.0]]) + 0.1 * rng.normal(size=(80, 1))).astype("float32")

w = tf.Variable(tf.random.normal([3, 1]))
optimizer = tf.keras.optimizers.SGD(0.05)
for _ in range(STEPS):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w - y))
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
print("steps", STEPS)
