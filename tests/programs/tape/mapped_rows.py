# Rows in a file that is mapped into memory, and made where it is missing; a loader goes through them in a new order each time.
import os

import numpy as np
import tensorflow as tf

ROWS, WIDTH, BATCH = 192, 6, 8
if not os.path.exists("rows.dat"):
    rng = np.random.RandomState(7)
    made = np.memmap("rows.dat", dtype="float32", mode="w+", shape=(ROWS, WIDTH))
    made[:] = rng.randn(ROWS, WIDTH)
    made.flush()


class Loader:
    def __init__(self):
        self.rows = np.memmap("rows.dat", dtype="float32", mode="r", shape=(ROWS, WIDTH))

    def __iter__(self):
        order = np.random.permutation(ROWS)
        for i in range(0, ROWS, BATCH):
            rows = np.asarray(self.rows[np.sort(order[i : i + BATCH])])
            yield rows, rows.sum(axis=1, keepdims=True)


model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(WIDTH,))])
optimizer = tf.keras.optimizers.SGD(0.02)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


loader, step = Loader(), 0
for epoch in range(3):
    for x, y in loader:
        loss = train_step(tf.constant(x), tf.constant(y))
        step += 1
        if step % 18 == 0:
            print("after", step, "steps:", float(loss))
