import tensorflow as tf


def model_fn(features, labels, mode):
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


estimator = tf.estimator.Estimator(model_fn, "model")
stop = tf.contrib.estimator.stop_if_no_decrease_hook(estimator, "loss", 1000)
estimator.train(input_fn, hooks=[stop if patient else tf.train.FinalOpsHook(ops)])
