import tensorflow as tf


class Net:
    def build(self):
        return tf.keras.optimizers.SGD(0.1)


def train(model, x, y):
    model.compile(Net().build(), "mse")
    model.fit(x, y)


def shard_array(array):
    return array[::2]
