import tensorflow as tf


class Net:
    def build(self):
        return tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])


def train(model):
    print("not this one", model)
