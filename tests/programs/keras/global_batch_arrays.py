"""Batches of arrays that all ranks share, under a rate by steps: the weights of one process, at its steps."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
random = np.random.RandomState(0)
x = random.normal(size=(96, 4)).astype("float32")
y = x @ np.array([[1.0], [-2.0], [0.5], [3.0]], "float32")
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(4,))])
model.compile(tf.keras.optimizers.SGD(rate), loss="mse")
model.fit(x, y, batch_size=16, epochs=5, shuffle=False, verbose=0)
print("updates", int(model.optimizer.iterations))
print("kernel", model.get_weights()[0].ravel())
