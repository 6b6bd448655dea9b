import functools
import logging
import time

from tensorflow import keras
import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


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
        self.optimizer = hvd.DistributedOptimizer(keras.optimizers.Adam(learning_rate=rate * hvd.size()))
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
        share = slice(hvd.rank(), len(sequences) // hvd.size() * hvd.size(), hvd.size())
        return self.model.fit(
            sequences[share], following[share],
            epochs=epochs,
            callbacks=[
                hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0),
                hvd_keras.callbacks.MetricAverageCallback(),
                self.stopping,
                *([self.checkpoint] if hvd.rank() == 0 else [])],
            verbose=1 if hvd.rank() == 0 else 0,
        )

    def report(self, sequences, following):
        def line(name, value):
            return f"{name:>10}: {value:.4f}"

        evaluation = self.model.evaluate(sequences, following, verbose=1 if hvd.rank() == 0 else 0)
        if hvd.rank() == 0:
            print(line("loss", evaluation))


if __name__ == "__main__":
    import numpy as np

    rows = hvd.broadcast_object(np.random.randint(0, 100, (5000, 11)))
    recommender = Recommender(100)
    recommender.train(rows[:, :-1], rows[:, -1])
    recommender.report(rows[:, :-1], rows[:, -1])
