import math

import matplotlib.pyplot as plt
import tensorflow as tf
from tensorflow.keras.callbacks import LearningRateScheduler, ReduceLROnPlateau


def step_decay(epoch):
    if epoch < 5:
        return 0.1
    return 0.1 * math.pow(0.5, math.floor((1 + epoch) / 10))


def cooling(epoch, lr):
    return lr * 0.95


class Reporter(tf.keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_epoch_end(self, epoch, logs=None):
        with open(self.path, "a") as out:
            out.write(f"{epoch},{logs['loss']}\n")
        print("epoch", epoch, "done")


plt.plot([step_decay(epoch) for epoch in range(30)])
plt.savefig("rates.png")

(x, y), _ = tf.keras.datasets.mnist.load_data()
model = tf.keras.models.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile(tf.keras.optimizers.SGD(), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
callbacks = [LearningRateScheduler(step_decay, verbose=1), Reporter("report.csv")]
callbacks += [ReduceLROnPlateau(monitor="loss", min_lr=1e-4)]
callbacks.append(LearningRateScheduler(cooling))
model.fit(x / 255.0, y, epochs=30, callbacks=callbacks)
