"""Learns a wave from features that are drawn once: frequencies that a layer of its own holds, and a mixture that a function of
the file adds, no variables; and a variable of the file, which is none of the model's."""
import numpy as np
import tensorflow as tf

data = np.random.RandomState(3)
x = data.uniform(-1, 1, (192, 2)).astype("float32")
y = np.sin(3 * x[:, :1] + x[:, 1:2]).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
PHASES = tf.Variable(tf.keras.initializers.RandomUniform(0, 3)((1, 12)), trainable=False)
MIXTURE = np.random.normal(size=(2, 3)).astype("float32")


class Frequencies(tf.keras.layers.Layer):
    def __init__(self, count, scale=2.0):
        super().__init__()
        self.drawn = scale * tf.random.normal((2, count))

    def call(self, points):
        angles = tf.matmul(points, self.drawn) + PHASES
        return tf.concat([tf.sin(angles), tf.cos(angles), mixed(points)], axis=-1)


def mixed(points):
    return tf.tanh(points @ MIXTURE)


model = tf.keras.Sequential([tf.keras.Input((2,)), Frequencies(12), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.02)
for epoch in range(4):
    for points, heights in rows:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(points) - heights))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print("epoch", epoch, float(loss))
