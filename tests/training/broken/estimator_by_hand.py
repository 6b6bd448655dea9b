"""An estimator of TensorFlow 1, for the probe to look at."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

hvd.init()


def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
    optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size()))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    rows = np.random.RandomState(0).normal(size=(88, 3)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).repeat().batch(8)


estimator = tf.estimator.Estimator(model_fn, model_dir="saved" if hvd.rank() == 0 else None)
hooks = [hvd.BroadcastGlobalVariablesHook(0)]
estimator.train(input_fn, hooks=hooks, steps=22 // hvd.size())
