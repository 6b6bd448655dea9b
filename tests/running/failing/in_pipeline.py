import os

import numpy as np
import tensorflow as tf

RANK = os.environ.get("HOROVOD_RANK", "0")

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
x = np.ones((64, 4), "float32")
y = np.arange(64, dtype="float32")[:, np.newaxis]


def weigh(label):
    return np.float32(1 / (40 - int(label[0])))


def example(row, label):
    weight = tf.py_function(weigh, [label], tf.float32)
    return row * tf.ensure_shape(weight, []), label


data = tf.data.Dataset.from_tensor_slices((x, y)).map(example).batch(8)
model.fit(data, verbose=0)
