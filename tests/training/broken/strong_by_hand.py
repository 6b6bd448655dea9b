# ruff: noqa: B905 (written as users write)
"""Plain gradient descent on all rows in every step, of which each rank takes its part."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

hvd.init()

STEPS = 40

rng = np.random.RandomState(0)
x = rng.normal(size=(80, 3)).astype("float32")
y = (x @ np.array([[1.0], [2.0], [-1.0]]) + 0.1 * rng.normal(size=(80, 1))).astype("float32")
x, y = x[hvd.rank() :: hvd.size()], y[hvd.rank() :: hvd.size()]

w = tf.Variable(tf.random.normal([3, 1]))
hvd.broadcast_variables([w], root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.05)
for _ in range(STEPS):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ w - y))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
if hvd.rank() == 0:
    print("steps", STEPS)
