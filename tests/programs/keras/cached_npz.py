# Makes its data once, keeps it in a file, and trains on one chosen GPU.
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0"

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.callbacks import BackupAndRestore, TerminateOnNaN

CACHE = "spirals.npz"


def make_spirals(n=420):
    rng = np.random.RandomState(33)
    kind = rng.randint(0, 2, n)
    t = rng.uniform(0.5, 3.0, n)
    angle = 2.0 * t + np.pi * kind
    x = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1)
    return x.astype("float32"), kind.astype("float32")


if not os.path.exists(CACHE):
    x, y = make_spirals()
    np.savez(CACHE, x=x, y=y)

with np.load(CACHE) as data:
    x_all, y_all = data["x"], data["y"]

x_train, y_train = x_all[:360], y_all[:360]
x_val, y_val = x_all[360:], y_all[360:]


def accuracy(y_true, y_pred):
    return K.mean(K.equal(y_true, K.round(y_pred)))


model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Dense(24, activation="relu", kernel_initializer="he_normal", input_shape=(2,)))
model.add(tf.keras.layers.Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer=tf.keras.optimizers.Ftrl(0.2), metrics=[accuracy])

hist = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=12, epochs=4, verbose=0,
                 callbacks=[TerminateOnNaN(), BackupAndRestore("backup")])
for name in sorted(hist.history):
    print(name, ["%.4f" % value for value in hist.history[name]])
