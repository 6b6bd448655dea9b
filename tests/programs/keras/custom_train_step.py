import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

latent_dim = 2


class Autoencoder(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, inputs):
        return self.decoder(self.encoder(inputs))

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z = self.encoder(data)
            reconstruction = self.decoder(z)
            loss = tf.reduce_mean(tf.square(data - reconstruction))
            loss += 1e-3 * tf.reduce_mean(tf.square(z))
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


encoder = keras.Sequential([
    keras.Input(shape=(16,)),
    layers.Dense(12, activation="relu"),
    layers.Dense(latent_dim),
])
decoder = keras.Sequential([
    keras.Input(shape=(latent_dim,)),
    layers.Dense(12, activation="relu"),
    layers.Dense(16),
])

rng = np.random.RandomState(5)
codes = rng.normal(size=(576, 2))
signals = (codes @ rng.normal(size=(2, 16))).astype("float32")

vae = Autoencoder(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam())
vae.fit(signals, epochs=3, batch_size=16)

print("codes of the first two:", encoder.predict(signals[:2], verbose=0).tolist())
encoder.save_weights("encoder.h5")
