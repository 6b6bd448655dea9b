# Numbers that select the rows and count, too: under another name, in a function that is told one, as rows that were seen.
import itertools

import numpy as np
import tensorflow as tf

BATCH, STEPS = 4, 64
rng = np.random.RandomState(3)
x = rng.rand(BATCH * STEPS, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.02)
total = 3 * STEPS
numbers = itertools.count(1)
losses, saved, looked = [], [], []


def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows) - targets))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    losses.append(float(loss))


def rows_of(step):
    return x[step * BATCH:(step + 1) * BATCH], y[step * BATCH:(step + 1) * BATCH]


def train_one(step):
    optimizer.learning_rate = 0.02 * 0.9 ** (step // 16)
    train_step(*rows_of(step))
    if step % 16 == 0:
        saved.append(step)


for i in range(STEPS):
    train_one(i)
for i in range(STEPS):
    step = i + 1
    train_step(x[(step - 1) * BATCH:step * BATCH], y[(step - 1) * BATCH:step * BATCH])
    if step % 16 == 0:
        looked.append(step)
late = 0
for start in range(0, len(x), BATCH):
    train_step(x[start:start + BATCH], y[start:start + BATCH])
    done = (2 * STEPS + start / BATCH) / total
    late += 1 if done >= 5 / 6 else 0
    if next(numbers) == 32:
        print('half of them')
    if start // BATCH % 16 == 15:
        print('a quarter of them')
print('saved:', len(saved), 'looked:', len(looked))
print('late ones are half of them:', 3 * late > len(losses) / 3)
print('learned:', float(tf.reduce_mean(tf.abs(model(x) - y))) < 0.5)
