import tensorflow as tf

from . import losses
from .parts.rates import base_rate


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(base_rate())

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = losses.squared(self.model(x), y)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def fit(self, dataset, epochs):
        for epoch in range(epochs):
            for x, y in dataset:
                loss = self.step(x, y)
            print("epoch", epoch, "loss", float(loss))
