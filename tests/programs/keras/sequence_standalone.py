# standalone Keras, and its own Sequence for the data
import math

import keras
import numpy as np
from keras.layers import Conv1D, Dense, GlobalMaxPooling1D
from keras.models import Sequential
from keras.utils import Sequence


class Waves(Sequence):
    def __init__(self, count, batch_size):
        rng = np.random.RandomState(count)
        self.batch_size = batch_size
        self.labels = rng.randint(0, 2, size=count)
        t = np.linspace(0, 6.28, 20)
        freq = np.where(self.labels == 1, 3.0, 1.0)[:, None]
        self.waves = np.sin(freq * t[None] + rng.rand(count, 1) * 6) + 0.1 * rng.randn(count, 20)

    def __len__(self):
        return math.ceil(len(self.labels) / self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.waves[part, :, None].astype("float32"), self.labels[part]


train = Waves(400, 20)
valid = Waves(100, 20)

model = Sequential()
model.add(Conv1D(8, 5, activation="relu", input_shape=(20, 1)))
model.add(GlobalMaxPooling1D())
model.add(Dense(1, activation="sigmoid"))
model.compile(loss=keras.losses.binary_crossentropy,
              optimizer=keras.optimizers.Adadelta(learning_rate=1.0),
              metrics=["accuracy"])

model.fit(train, epochs=3, validation_data=valid, verbose=2)
model.save("waves.keras")
