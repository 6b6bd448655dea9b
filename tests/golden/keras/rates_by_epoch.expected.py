import math

import matplotlib.pyplot as plt
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from tensorflow.keras.callbacks import LearningRateScheduler, ReduceLROnPlateau

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


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
        if hvd.rank() == 0:
            with open(self.path, "a") as out:
                out.write(f"{epoch},{logs['loss']}\n")
            print("epoch", epoch, "done")


plt.plot([step_decay(epoch) for epoch in range(30)])
if hvd.rank() == 0:
    plt.savefig("rates.png")

if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    tf.keras.datasets.mnist.load_data()
hvd.broadcast(0, root_rank=0, name="downloaded")
(x, y), _ = tf.keras.datasets.mnist.load_data()
model = tf.keras.models.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size())), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
callbacks = [LearningRateScheduler(lambda epoch: step_decay(epoch) * hvd.size(), verbose=1 if hvd.rank() == 0 else 0), Reporter("report.csv")]
callbacks += [ReduceLROnPlateau(monitor="loss", min_lr=1e-4 * hvd.size())]
callbacks.append(LearningRateScheduler(cooling))
hvd_callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(), *callbacks]
model.fit(shard(x / 255.0), shard(y), epochs=30, callbacks=hvd_callbacks, verbose=1 if hvd.rank() == 0 else 0)
