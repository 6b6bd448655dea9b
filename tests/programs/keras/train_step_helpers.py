"""A GAN as one Keras model: `train_step` leaves the steps of its two parts to methods."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class Gan(keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.generator = keras.Sequential([keras.Input((latent,)), layers.Dense(8, activation="relu"), layers.Dense(6)])
        self.critic = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(1)])
        self.seen = keras.metrics.Mean(name="critic_loss")

    def compile(self, critic_rate=0.01, generator_rate=0.02, **kwargs):
        super().compile(**kwargs)
        self.critic_optimizer = keras.optimizers.SGD(critic_rate)
        self.generator_optimizer = keras.optimizers.Adam(generator_rate, beta_1=0.5)
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_critic(self, real, fake):
        with tf.GradientTape() as tape:
            loss = self.loss_fn(tf.ones((tf.shape(real)[0], 1)), self.critic(real))
            loss += self.loss_fn(tf.zeros((tf.shape(fake)[0], 1)), self.critic(fake))
        gradients = tape.gradient(loss, self.critic.trainable_variables)
        self.critic_optimizer.apply_gradients(zip(gradients, self.critic.trainable_variables))
        return loss

    def train_generator(self, noise):
        with tf.GradientTape() as tape:
            loss = self.loss_fn(tf.ones((tf.shape(noise)[0], 1)), self.critic(self.generator(noise)))
        gradients = tape.gradient(loss, self.generator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(gradients, self.generator.trainable_variables))

    def train_step(self, real):
        noise = tf.random.normal((tf.shape(real)[0], self.latent))
        loss = self.train_critic(real, self.generator(noise))
        self.train_generator(noise)
        self.seen.update_state(loss)
        return {"critic_loss": self.seen.result()}


rows = np.random.RandomState(1).normal(size=(96, 6)).astype("float32")
gan = Gan(latent=3)
gan.compile()
gan.fit(tf.data.Dataset.from_tensor_slices(rows).batch(8), epochs=2, verbose=0)
gan.generator.save_weights("generator.h5")
