import tensorflow as tf


def dense_net():
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile(tf.keras.optimizers.Adagrad(0.01), "mse")
    return net
