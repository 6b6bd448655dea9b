# ruff: noqa: B905 (written as users write)
"""A loop written by hand, traced, with batch norm and a checkpoint, for the probe to look at."""

import numpy as np
import tensorflow as tf

BATCH = 10

rng = np.random.RandomState(0)
x = rng.normal(size=(200, 3)).astype("float32")
y = np.abs(x).sum(axis=1, keepdims=True).astype("float32")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(6, input_shape=(3,)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(1),
    ]
)
schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.01, decay_steps=10, decay_rate=0.8)
optimizer = tf.keras.optimizers.Adam(schedule)
writer = tf.summary.create_file_writer("logs")
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)


@tf.function
def step(features, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - target))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
for epoch in range(2):
    for features, target in dataset:
        loss = step(features, target)
    with writer.as_default():
        tf.summary.scalar("loss", loss, step=epoch)
    print("epoch", epoch, "loss", float(loss))
checkpoint.save("saved/model")
