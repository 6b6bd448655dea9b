import functools

import numpy as np
import tensorflow as tf

# Steps wherever an expression can stand, and no loop that is written as one
rng = np.random.RandomState(5)
data = rng.normal(size=(240, 4)).astype(np.float32)
target = data @ np.float32([[1.0], [-2.0], [0.5], [0.25]])
BATCH = 12
batches = tf.data.Dataset.from_tensor_slices((data, target)).batch(BATCH)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.05)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def both(pair):
    return train_step(*pair)


def epoch(ds):
    return sum(train_step(x, y) for x, y in ds) / len(ds)


losses = [
    # one step a batch
    float(train_step(x, y))  # its loss
    for x, y in batches
]
print("list", np.mean(losses))
mean = epoch(batches)
print("sum", float(mean))
again = lambda ds: np.mean([float(train_step(x, y)) for x, y in ds])
mean = again(batches)
print("lambda", mean)
print("map", np.mean(list(map(both, batches))))
if any(train_step(x, y) > 1e6 for x, y in batches): print("diverges"),
print("reduce", float(functools.reduce(lambda total, pair: total + train_step(*pair), batches, 0.0)))
for loss in (train_step(x, y) for x, y in batches): last = loss; print("generator", float(last))
for x, y in batches:
    if len(x) < 2:
        print("a small one")
    elif train_step(x, y) > 1e6:
        print("diverges")
