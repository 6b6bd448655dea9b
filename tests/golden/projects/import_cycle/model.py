import tensorflow as tf

import training


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def learn(self, dataset):
        training.run(self, dataset)
