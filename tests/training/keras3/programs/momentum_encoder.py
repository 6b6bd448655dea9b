"""A momentum encoder and a queue of negatives."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

WIDTH, QUEUE, TEMPERATURE = 16, 256, 0.1


def make_encoder():
    return keras.Sequential(
        [
            keras.Input((12,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(WIDTH),
            layers.UnitNormalization(),
        ]
    )


class MoCo(keras.Model):
    def __init__(self, momentum=0.99):
        super().__init__()
        self.momentum = momentum
        self.encoder = make_encoder()
        self.m_encoder = keras.models.clone_model(self.encoder)
        self.m_encoder.set_weights(self.encoder.get_weights())
        self.m_encoder.trainable = False
        self.noise = layers.GaussianNoise(0.1)
        self.queue = self.add_weight(
            shape=(QUEUE, WIDTH), initializer="random_normal", trainable=False, name="queue"
        )
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, x):
        return self.encoder(x)

    def train_step(self, x):
        one, two = self.noise(x, training=True), self.noise(x, training=True)
        keys = self.m_encoder(two, training=False)
        with tf.GradientTape() as tape:
            queries = self.encoder(one, training=True)
            positive = ops.sum(queries * keys, axis=1, keepdims=True)
            negative = ops.matmul(queries, ops.transpose(self.queue))
            logits = ops.concatenate([positive, negative], axis=1) / TEMPERATURE
            labels = ops.zeros((ops.shape(x)[0],), dtype="int32")
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
        gradients = tape.gradient(loss, self.encoder.trainable_variables)
        self.optimizer.apply(gradients, self.encoder.trainable_variables)
        for weight, m_weight in zip(self.encoder.weights, self.m_encoder.weights):
            m_weight.assign(self.momentum * m_weight + (1 - self.momentum) * weight)
        self.queue.assign(ops.concatenate([keys, self.queue], axis=0)[:QUEUE])
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


rng = np.random.default_rng(5)
rows = rng.normal(size=(2000, 12)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(2000, seed=1).batch(50, drop_remainder=True)
model = MoCo()
model.compile(keras.optimizers.SGD(0.05, momentum=0.9))
model.fit(dataset, epochs=3)
model.encoder.save("encoder.keras")
