"""Batches of a dataset that all ranks share, the last one shorter than the others."""

import numpy as np
import tensorflow as tf

BATCH_SIZE = 16
tf.random.set_seed(1)
random = np.random.RandomState(0)
x = random.normal(size=(104, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], "float32")
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH_SIZE)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(0.05, momentum=0.9), loss="mse")
model.fit(dataset, epochs=5, verbose=0)
print("updates", int(model.optimizer.iterations))
print("kernel", model.get_weights()[0].ravel())
