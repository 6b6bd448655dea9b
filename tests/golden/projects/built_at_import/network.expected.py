import tensorflow as tf
import horovod.tensorflow.keras as hvd


def distributed(saved):  # an optimizer in Horovod's wrapper, saved under the name of Keras' own
    optimizer = hvd.DistributedOptimizer(saved)
    type(optimizer).__module__ = type(saved).__module__
    return optimizer


net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = distributed(tf.keras.optimizers.SGD(0.1 * hvd.size()))
