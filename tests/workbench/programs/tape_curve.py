"""GradientTape: fits a curve, with a finding that has a quick fix."""

import numpy as np
import tensorflow as tf

STEPS = 40

x = np.linspace(-3, 3, 256, dtype="float32").reshape(-1, 1)
y = np.sin(2 * x)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)])
loss_fn = tf.keras.losses.MeanSquaredError()
optimizer = tf.keras.optimizers.Adam(0.01)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).repeat().batch(32)


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_fn(targets, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step, (inputs, targets) in enumerate(dataset.take(STEPS)):
    print("step", step, "loss", float(train_step(inputs, targets)))
