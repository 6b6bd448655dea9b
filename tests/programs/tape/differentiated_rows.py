"""A differential equation, u' = cos(x), u(0) = 0: the loss takes the gradient of the network by the points it is given."""
import numpy as np
import tensorflow as tf

tf.random.set_seed(4)
points = tf.constant(np.linspace(-1, 1, 40).reshape(-1, 1), tf.float32)
start = tf.constant([[0.0]])
network = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh", input_shape=(1,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.02)


@tf.function
def residual():
    with tf.GradientTape() as inner:
        inner.watch(points)
        u = network(points)
    slope = inner.gradient(u, points)
    return tf.reduce_mean(tf.square(slope - tf.cos(points))) + tf.reduce_mean(tf.square(network(start)))


for step in range(30):
    with tf.GradientTape() as tape:
        loss = residual()
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables))
    if step % 10 == 9:
        print("step", step + 1)
