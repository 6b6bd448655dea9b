import tensorflow as tf


def small():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])


def large():
    return tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])


def train_small(x, y):
    model = small()
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y, epochs=2)


def train_large(x, y):
    model = large()
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    model.fit(x, y, epochs=5)
