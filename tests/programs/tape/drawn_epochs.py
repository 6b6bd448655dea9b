"""As many epochs as are drawn; a host's name and a set say how the data is prepared; an exception decides on more."""
import random
import socket

import numpy as np
import tensorflow as tf

COLUMNS = {"height", "width", "depth", "weight"}
BATCH = 10

r = np.random.RandomState(3)
rows = {name: r.normal(size=200).astype("float32") for name in sorted(COLUMNS)}
target = sum(rows.values())[:, None]

try:
    extra = int(open("extra_epochs.txt").read())
except OSError:
    extra = 1


def draw_epochs():
    lowest = 2 if "cluster" in socket.gethostname() else 3
    return random.randint(lowest, 6)


drawn = draw_epochs()
wanted = drawn
epochs = wanted + extra

model = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh", input_shape=(4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)
inputs = np.stack([rows[name] for name in sorted(COLUMNS)], axis=1)
batches = tf.data.Dataset.from_tensor_slices((inputs, target)).batch(BATCH)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(epochs):
    losses = []
    for x, y in batches:
        losses.append(float(train_step(x, y)))
    print("epoch %d loss %.3f" % (epoch, np.mean(losses)))
