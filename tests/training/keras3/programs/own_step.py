"""A `train_step` of the model's own with two optimizers, built by its first batch; a dataset."""

import numpy as np
import tensorflow as tf
from tensorflow import keras


class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)

    def compile(self, encoder_optimizer, head_optimizer):
        super().compile()
        self.encoder_optimizer, self.head_optimizer = encoder_optimizer, head_optimizer

    def call(self, rows):
        return self.head(self.encoder(rows))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        of_encoder, of_head = tape.gradient(loss, [self.encoder.trainable_variables, self.head.trainable_variables])
        self.encoder_optimizer.apply_gradients(zip(of_encoder, self.encoder.trainable_variables))
        self.head_optimizer.apply(of_head, self.head.trainable_variables)
        return {"loss": loss}


rows = np.random.RandomState(0)
x = rows.randn(256, 8).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).shuffle(256).batch(16)
model = Pair()
model.compile(keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.01))
model.fit(dataset, epochs=2)
