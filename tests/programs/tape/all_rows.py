"""A curve through forty-eight points; every step sees all of them."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
X = rng.uniform(-1, 1, (48, 2)).astype("float32")
Y = (2 * X[:, :1] - X[:, 1:] ** 2 + 0.5).astype("float32")

net = tf.keras.Sequential([
    tf.keras.layers.Dense(8, activation="tanh", input_shape=(2,)),
    tf.keras.layers.Dense(1),
])
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.2, decay_steps=40, decay_rate=0.7)
optimizer = tf.keras.optimizers.SGD(rate)

for step in range(121):
    with tf.GradientTape() as tape:
        error = tf.reduce_mean(tf.square(net(X) - Y))
    gradients = tape.gradient(error, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    if step % 40 == 0:
        print("step", step, "rate", float(rate(step)))

print("all points:", float(tf.reduce_mean(tf.abs(net(X) - Y))))
net.save_weights("curve.weights.h5")
