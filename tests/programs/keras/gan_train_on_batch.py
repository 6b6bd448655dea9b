"""A GAN of one dimension, in the old Keras way."""
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model, Sequential
from tensorflow.keras.optimizers import Adam

import numpy as np


class GAN():
    def __init__(self):
        self.latent_dim = 4
        lr = 0.002

        self.discriminator = self.build_discriminator()
        self.discriminator.compile(loss='binary_crossentropy',
                                   optimizer=Adam(lr, 0.5),
                                   metrics=['accuracy'])

        self.generator = self.build_generator()

        z = Input(shape=(self.latent_dim,))
        sample = self.generator(z)
        self.discriminator.trainable = False
        validity = self.discriminator(sample)

        self.combined = Model(z, validity)
        self.combined.compile(loss='binary_crossentropy', optimizer=Adam(lr, 0.5))

    def build_generator(self):
        model = Sequential()
        model.add(Dense(8, activation='relu', input_dim=self.latent_dim))
        model.add(Dense(1))
        return model

    def build_discriminator(self):
        model = Sequential()
        model.add(Dense(8, activation='relu', input_dim=1))
        model.add(Dense(1, activation='sigmoid'))
        return model

    def train(self, epochs, batch_size=32, sample_interval=20):
        X_train = np.random.RandomState(0).normal(3.0, 0.5, size=(1000, 1))
        valid = np.ones((batch_size, 1))
        fake = np.zeros((batch_size, 1))

        for epoch in range(epochs):
            idx = np.random.randint(0, X_train.shape[0], batch_size)
            noise = np.random.normal(0, 1, (batch_size, self.latent_dim))
            gen = self.generator.predict(noise, verbose=0)

            d_loss_real = self.discriminator.train_on_batch(X_train[idx], valid)
            d_loss_fake = self.discriminator.train_on_batch(gen, fake)
            d_loss = 0.5 * np.add(d_loss_real, d_loss_fake)

            noise = np.random.normal(0, 1, (batch_size, self.latent_dim))
            g_loss = self.combined.train_on_batch(noise, valid)

            if epoch % sample_interval == 0:
                print("%d [D loss: %f, acc.: %.2f%%] [G loss: %f]" % (epoch, d_loss[0], 100 * d_loss[1], g_loss))
                self.save_samples(epoch)

    def save_samples(self, epoch):
        noise = np.random.RandomState(1).normal(0, 1, (16, self.latent_dim))
        np.savetxt("samples_%d.txt" % epoch, self.generator.predict(noise, verbose=0))


if __name__ == '__main__':
    gan = GAN()
    gan.train(epochs=40)
