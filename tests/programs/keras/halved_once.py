"""A callback of the program's own that halves the rate at one step and at every 40th."""

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Halved(keras.callbacks.Callback):
    def __init__(self, at):
        super().__init__()
        self.at, self.steps = at, 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == self.at:
            self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 0.5
            print("halved after", self.steps, "steps")
        if self.steps % 40 == 0:
            self.model.optimizer.learning_rate = self.model.optimizer.learning_rate * 0.8


rng = np.random.RandomState(1)
x = rng.randn(1024, 8).astype("float32")
y = (x @ rng.randn(8, 1) + 0.3 * rng.randn(1024, 1)).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024).batch(32, drop_remainder=True)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows, epochs=4, callbacks=[Halved(60)], verbose=2)
