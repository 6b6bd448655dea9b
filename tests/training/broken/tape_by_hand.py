# ruff: noqa: B905 (written as users write)
"""A loop written by hand, traced, with batch norm and a checkpoint, for the probe to look at."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

hvd.init()

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
schedule = tf.keras.optimizers.schedules.ExponentialDecay(
    0.01 * hvd.size(), decay_steps=10 // hvd.size(), decay_rate=0.8
)
optimizer = tf.keras.optimizers.Adam(schedule)
writer = tf.summary.create_file_writer("logs") if hvd.rank() == 0 else tf.summary.create_noop_writer()
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)


@tf.function
def step(features, target, first):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - target))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return loss


dataset = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).batch(BATCH)
first = True
for epoch in range(2):
    for features, target in dataset:
        loss = step(features, target, first)
        first = False
    with writer.as_default():
        tf.summary.scalar("loss", loss, step=epoch)
    if hvd.rank() == 0:
        print("epoch", epoch, "loss", float(loss))
hvd.broadcast_variables(model.variables, root_rank=0)
if hvd.rank() == 0:
    checkpoint.save("saved/model")
