"""The network; by itself, a try of it."""

import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="tanh")
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))


def try_it():
    net = Net()
    net.compile("adam", "mse")
    net.fit(tf.ones((8, 3)), tf.ones((8, 1)))


if __name__ == "__main__":
    try_it()
