import os

import numpy as np
import tensorflow as tf

RANK = os.environ.get("HOROVOD_RANK", "0")

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
x = np.ones((64, 4), "float32")
y = np.ones((64, 1), "float32")

import time


class Review(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        while RANK == "1" and not os.path.exists("reviewed.txt"):
            time.sleep(0.5)


model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[Review()])
