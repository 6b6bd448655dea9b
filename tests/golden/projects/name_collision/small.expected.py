import tensorflow as tf
import horovod.tensorflow.keras as hvd


class Net:
    def build(self):
        return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))


def train(model, x, y):
    model.compile(Net().build(), "mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
    model.fit(x[share], y[share], callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)


def shard_array(array):
    return array[::2]
