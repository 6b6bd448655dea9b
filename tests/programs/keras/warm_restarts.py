"""Cosine cycles by batches, each twice as long as the last, with a snapshot at each restart; a sequence that shuffles itself."""
import math

import numpy as np
import tensorflow as tf


class WarmRestarts(tf.keras.callbacks.Callback):
    def __init__(self, low, high, length):
        super().__init__()
        self.low, self.high, self.length, self.since, self.cycles = low, high, length, 0, 0

    def rate(self):
        return self.low + 0.5 * (self.high - self.low) * (1 + math.cos(math.pi * self.since / self.length))

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate.assign(self.rate())

    def on_train_batch_end(self, batch, logs=None):
        self.since += 1
        if self.since >= self.length:
            self.cycles += 1
            self.model.save_weights(f"snapshot-{self.cycles}.weights.h5")
            print("restart")
            self.since = 0
            self.length *= 2


class Rows(tf.keras.utils.Sequence):
    def __init__(self, x, y, batch):
        self.x, self.y, self.batch = x, y, batch
        self.order = np.arange(len(x))
        np.random.shuffle(self.order)

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, i):
        rows = self.order[i * self.batch : (i + 1) * self.batch]
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


x = np.random.RandomState(10).normal(size=(160, 5)).astype("float32")
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(5,))])
model.compile(tf.keras.optimizers.SGD(0.02), "mse")
model.fit(Rows(x, y, 8), epochs=6, callbacks=[WarmRestarts(0.001, 0.02, 16)], verbose=2)
