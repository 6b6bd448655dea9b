"""Searches at random: each trial draws the size of a network, how deep it is, and what trains it."""
import random

import numpy as np
import tensorflow as tf

RATE = 0.01
SIZES = [4, 8, 12, 16]
data = np.random.RandomState(5)
x = data.normal(size=(240, 6)).astype("float32")
y = (x[:, :1] * x[:, 1:2] + 0.1 * data.normal(size=(240, 1))).astype("float32")



def build(units, depth):
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Dense(units, activation="relu", input_shape=(6,)))
    for _ in range(depth):
        model.add(tf.keras.layers.Dense(units // 2, activation="relu"))
    model.add(tf.keras.layers.Dense(1))
    return model


best = None
for trial in range(3):
    settings = {"units": random.choice(SIZES), "depth": int(np.random.randint(1, 4))}
    model = build(settings["units"], settings["depth"])
    if random.random() < 0.5:
        optimizer = tf.keras.optimizers.SGD(RATE)
    else:
        optimizer = tf.keras.optimizers.Adam(RATE)
    model.compile(optimizer=optimizer, loss="mse")
    history = model.fit(x, y, batch_size=20, epochs=2, verbose=0)
    loss = history.history["loss"][-1]
    if best is None or loss < best:
        best = loss
print("best", best is not None)
