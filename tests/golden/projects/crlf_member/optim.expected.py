import tensorflow as tf
import horovod.tensorflow.keras as hvd


def make():
	return hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))  # plain
