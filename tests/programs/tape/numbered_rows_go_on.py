# Takes the rows of a step by its number; a run goes on from the number in the name of the last file: 60 steps, up to 36 in one run.
import glob

import numpy as np
import tensorflow as tf

STEPS, IN_ONE_RUN, BATCH = 60, 36, 8
rng = np.random.RandomState(8)
x = rng.uniform(-1, 1, (96, 4)).astype("float32")
y = x @ np.array([[1.0], [-1.0], [2.0], [0.5]], "float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.02)
start = 0
files = sorted(glob.glob("line-*.weights.h5"))
if files:
    start = int(files[-1][5:9])
    model.load_weights(files[-1])
last = min(STEPS, start + IN_ONE_RUN)
print("from", start, "to", last)

for i in range(start, last):
    step = i + 1
    at = i * BATCH % len(x)
    optimizer.learning_rate.assign(0.02 * 0.99 ** i)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x[at : at + BATCH]) - y[at : at + BATCH]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step % 12 == 0:
        model.save_weights("line-%04d.weights.h5" % step)
        print("saved at", step)
