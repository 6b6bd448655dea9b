import tensorflow as tf
import horovod.tensorflow.keras as hvd


def shard(rows):
    """This rank's share of some rows: every size()-th, and equally many on each rank."""
    share = rows[hvd.rank() : len(rows) // hvd.size() * hvd.size() : hvd.size()]
    return share if len(rows) >= hvd.size() else rows


class Net:
    def build(self):
        return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))


def train(model, x, y):
    model.compile(Net().build(), "mse")
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
    ]
    model.fit(shard(x), shard(y), callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)


def shard_array(array):
    return array[::2]
