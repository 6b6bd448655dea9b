import tensorflow as tf
import horovod.tensorflow.keras as hvd


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])


def make_optimizer(rate):
    return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate * hvd.size(), momentum=0.9))
