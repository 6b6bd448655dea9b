import os

import numpy as np
import tensorflow as tf

RANK = os.environ.get("HOROVOD_RANK", "0")

weights = tf.Variable(tf.ones([4, 1]))
optimizer = tf.keras.optimizers.SGD(0.01)
data = tf.data.Dataset.from_tensor_slices(-tf.ones([64, 4])).batch(8)


@tf.function
def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.math.log(tf.matmul(rows, weights)))
        loss = tf.debugging.check_numerics(loss, "the loss is broken")
    gradients = tape.gradient(loss, [weights])
    optimizer.apply_gradients(zip(gradients, [weights]))
    return loss


for rows in data:
    step(rows)
