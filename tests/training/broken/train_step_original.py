# ruff: noqa: B905 (written as users write)
"""A model with a training step of its own, for the probe to look at."""

import numpy as np
import tensorflow as tf


class Scaled(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


rng = np.random.RandomState(0)
x = rng.normal(size=(96, 3)).astype("float32")
y = x[:, :2] * 0.5
model = Scaled()
model.compile(optimizer=tf.keras.optimizers.Adam(0.01))
model.fit(x, y, batch_size=8, epochs=2, verbose=0)
