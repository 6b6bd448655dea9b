import numpy as np
import tensorflow as tf


def load(batch_size):
    random = np.random.RandomState(0)
    x = random.rand(96, 3).astype("float32")
    y = x.sum(1, keepdims=True)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size)
