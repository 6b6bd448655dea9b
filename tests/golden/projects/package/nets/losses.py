import tensorflow as tf


def squared(prediction, y):
    return tf.reduce_mean(tf.square(prediction - y))
