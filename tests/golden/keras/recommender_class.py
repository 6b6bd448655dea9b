import functools
import logging
import time

from tensorflow import keras


def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        began = time.time()
        try:
            return function(*args, **kwargs)
        finally:
            logging.info("%s took %.1f s", function.__name__, time.time() - began)
    return wrapper


class Recommender:
    """Learns which item comes next."""

    optimizer_class = keras.optimizers.Adam

    def __init__(self, items, units=32, *, rate=0.002):
        self.items = items
        self.model = self._build(items, units)
        self.optimizer = keras.optimizers.Adam(learning_rate=rate)
        self.model.compile(optimizer=self.optimizer, loss="sparse_categorical_crossentropy")
        self.stopping = keras.callbacks.EarlyStopping(monitor="loss", patience=2)
        self.checkpoint = keras.callbacks.ModelCheckpoint("recommender.h5")

    @staticmethod
    def _build(items, units):
        return keras.Sequential([
            keras.layers.Embedding(items, units),
            keras.layers.GRU(units),
            keras.layers.Dense(items, activation="softmax"),
        ])

    @timed
    def train(self, sequences, following, epochs=5):
        return self.model.fit(
            sequences, following,
            epochs=epochs,
            callbacks=[self.stopping, self.checkpoint],
        )

    def report(self, sequences, following):
        def line(name, value):
            return f"{name:>10}: {value:.4f}"

        print(line("loss", self.model.evaluate(sequences, following)))


if __name__ == "__main__":
    import numpy as np

    rows = np.random.randint(0, 100, (5000, 11))
    recommender = Recommender(100)
    recommender.train(rows[:, :-1], rows[:, -1])
    recommender.report(rows[:, :-1], rows[:, -1])
