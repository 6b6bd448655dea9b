# Ends when a smoothed loss, which an object keeps from the first step on, is low enough after an epoch.
import numpy as np
import tensorflow as tf


class Smoothed:
    def __init__(self, beta=0.97):
        self.beta = beta
        self.mean = None

    def add(self, loss):
        if self.mean is None:
            self.mean = loss
        else:
            self.mean = self.beta * self.mean + (1 - self.beta) * loss


rng = np.random.RandomState(0)
x = rng.normal(size=(192, 4)).astype("float32")
y = x @ np.array([[1.0], [2.0], [-1.0], [0.5]], "float32") + 10
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01)
smoothed = Smoothed()
for epoch in range(20):
    for inputs, targets in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        smoothed.add(float(loss))
    print("epoch %d: %.3f" % (epoch, smoothed.mean))
    if smoothed.mean < 1.0:
        break
print("ended after epoch", epoch)
