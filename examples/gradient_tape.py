"""GradientTape, a loop of one's own: fits a curve. Needs no download."""

import numpy as np
import tensorflow as tf

STEPS = 200

x = np.linspace(-3, 3, 512, dtype="float32").reshape(-1, 1)
y = np.sin(2 * x) + 0.3 * x

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(32, activation="tanh"),
        tf.keras.layers.Dense(32, activation="tanh"),
        tf.keras.layers.Dense(1),
    ]
)
loss_fn = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.Adam(0.01)

dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).repeat().batch(64)


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_fn(targets, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step, (inputs, targets) in enumerate(dataset.take(STEPS)):
    loss = train_step(inputs, targets)
    if step % 50 == 0:
        print("step", step, "loss", float(loss))

model.save_weights("curve.weights.h5")
