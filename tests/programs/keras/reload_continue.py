import os

import numpy as np
import tensorflow as tf
from tensorflow.keras.models import load_model

MODEL_FILE = "model.h5"

rng = np.random.RandomState(21)
x = rng.normal(size=(320, 6)).astype("float32")
y = np.tanh(x @ rng.normal(size=(6, 1))).astype("float32")


def new_model():
    m = tf.keras.Sequential()
    m.add(tf.keras.layers.Dense(8, activation="tanh", input_shape=(6,)))
    m.add(tf.keras.layers.Dense(1))
    m.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=0.05, momentum=0.9), loss="mse")
    return m


if os.path.exists(MODEL_FILE):
    print("going on with", MODEL_FILE)
    model = load_model(MODEL_FILE)
else:
    print("starting afresh")
    model = new_model()

model.fit(x, y, batch_size=16, epochs=2, verbose=0)
print("loss now:", model.evaluate(x, y, verbose=0))
model.save(MODEL_FILE)
