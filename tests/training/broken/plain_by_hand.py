# ruff: noqa: B007, B905 (written as users write)
"""Plain gradient descent without shuffling: what two ranks do, one process does with batches twice as large."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

hvd.init()

BATCH = 8
RATE = 0.02

rng = np.random.RandomState(0)
x = rng.normal(size=(160, 3)).astype("float32")
y = (x @ np.array([[1.0], [2.0], [-1.0]]) + 0.1 * rng.normal(size=(160, 1))).astype("float32")

w = tf.Variable(tf.random.normal([3, 1]))
hvd.broadcast_variables([w], root_rank=0)
optimizer = tf.keras.optimizers.SGD(RATE * hvd.size())
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).batch(BATCH)
for epoch in range(2):
    for features, target in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(features @ w - target))
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w]))
if hvd.rank() == 0:
    print("loss", float(loss))
