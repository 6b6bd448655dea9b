import tensorflow as tf
import horovod.tensorflow.keras as hvd


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


def small():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])


def large():
    return tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])


def train_small(x, y):
    model = small()
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size())), "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    model.fit(shard(x), shard(y), epochs=2, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)


def train_large(x, y):
    model = large()
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    model.fit(shard(x), shard(y), epochs=5, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
