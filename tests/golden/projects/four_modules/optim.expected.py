from tensorflow.keras import optimizers
import horovod.tensorflow as hvd


def make_optimizer(name, rate=0.01):
    if name == "adam":
        return optimizers.Adam(rate * hvd.size())
    return optimizers.SGD(learning_rate=rate * hvd.size())
