# Keeps how far it has come in a file of its own, beside the weights: 60 steps, up to 36 in one run.
import json
import os

import numpy as np
import tensorflow as tf

STEPS, IN_ONE_RUN, BATCH = 60, 36, 8
rng = np.random.RandomState(6)
x = rng.uniform(-1, 1, (96, 4)).astype("float32")
y = x @ np.array([[1.0], [2.0], [-1.0], [0.5]], "float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.02)
state = {"step": 0, "best": 1e9}
if os.path.exists("state.json"):
    with open("state.json") as file:
        state = json.load(file)
    model.load_weights("model.weights.h5")
last = min(STEPS, state["step"] + IN_ONE_RUN)
print("from", state["step"], "to", last)

while state["step"] < last:
    order = np.random.permutation(len(x))
    for i in range(0, len(x), BATCH):
        rows = order[i : i + BATCH]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[rows]) - y[rows]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        state["step"] += 1
    state["best"] = min(state["best"], float(tf.reduce_mean((model(x) - y) ** 2)))
    model.save_weights("model.weights.h5")
    with open("state.json", "w") as file:
        json.dump(state, file)
    print("saved at", state["step"])
