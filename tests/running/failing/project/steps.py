import tensorflow as tf


def rate(name):
    return {"slow": 0.001}[name]


def make():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(rate("fast")), "mse")
    return model
