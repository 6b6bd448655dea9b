import numpy as np
import tensorflow as tf


class Rows:
    def __init__(self, batch_size):
        random = np.random.RandomState(0)
        self.x = random.rand(96, 3).astype("float32")
        self.y = self.x.sum(1, keepdims=True)
        self.batch_size = batch_size

    def training(self):
        return tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(self.batch_size)
