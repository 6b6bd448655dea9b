# A Sequence of its own that shuffles the rows before every epoch. No seed anywhere.
import numpy as np
from tensorflow import keras


class Batches(keras.utils.Sequence):
    def __init__(self, x, y, batch_size):
        self.x, self.y, self.batch_size = x, y, batch_size
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.x) / self.batch_size))

    def __getitem__(self, index):
        rows = self.order[index * self.batch_size:(index + 1) * self.batch_size]
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        self.order = np.arange(len(self.x))
        np.random.shuffle(self.order)


x = np.random.RandomState(4).uniform(-1, 1, (300, 3)).astype("float32")
y = (x @ [1.0, -2.0, 0.5]).astype("float32")

held_out = np.arange(len(x)) < 60
train = Batches(x[~held_out], y[~held_out], 8)

model = keras.Sequential([keras.layers.Dense(8, activation="relu", input_shape=(3,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), "mse")
model.fit(train, epochs=3, validation_data=(x[held_out], y[held_out]), verbose=0)
print("held out: %.3f" % model.evaluate(x[held_out], y[held_out], verbose=0))
