"""Wasserstein GAN with a gradient penalty, on points of a ring."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

batch_size = 20
n_critic = 2
gp_weight = 10.0
z_dim = 3


def mlp(inputs, outputs):
    return keras.Sequential([
        keras.layers.Dense(16, activation="relu", input_shape=(inputs,)),
        keras.layers.Dense(outputs),
    ])


G = mlp(z_dim, 2)
D = mlp(2, 1)
g_optimizer = keras.optimizers.Adam(learning_rate=0.001, beta_1=0.5)
d_optimizer = keras.optimizers.Adam(learning_rate=0.001, beta_1=0.5)


def gradient_penalty(real, fake):
    alpha = tf.random.uniform([real.shape[0], 1], 0.0, 1.0)
    mixed = real + alpha * (fake - real)
    with tf.GradientTape() as gp_tape:
        gp_tape.watch(mixed)
        pred = D(mixed, training=True)
    grads = gp_tape.gradient(pred, [mixed])[0]
    norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=1) + 1e-12)
    return tf.reduce_mean((norm - 1.0) ** 2)


def train_d(real):
    z = tf.random.normal([real.shape[0], z_dim])
    with tf.GradientTape() as tape:
        fake = G(z, training=True)
        cost = tf.reduce_mean(D(fake, training=True)) - tf.reduce_mean(D(real, training=True))
        d_loss = cost + gp_weight * gradient_penalty(real, fake)
    d_gradient = tape.gradient(d_loss, D.trainable_variables)
    d_optimizer.apply_gradients(zip(d_gradient, D.trainable_variables))
    return d_loss


def train_g():
    z = tf.random.normal([batch_size, z_dim])
    with tf.GradientTape() as tape:
        g_loss = -tf.reduce_mean(D(G(z, training=True), training=True))
    g_gradient = tape.gradient(g_loss, G.trainable_variables)
    g_optimizer.apply_gradients(zip(g_gradient, G.trainable_variables))
    return g_loss


angles = np.random.RandomState(9).uniform(0, 2 * np.pi, size=400)
ring = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(ring).shuffle(400).batch(batch_size, drop_remainder=True)

for epoch in range(2):
    for points in dataset:
        for _ in range(n_critic):
            d_loss = train_d(points)
        g_loss = train_g()
    print("epoch", epoch, "d_loss", d_loss.numpy(), "g_loss", g_loss.numpy())

G.save_weights("generator.h5")
D.save_weights("discriminator.h5")
