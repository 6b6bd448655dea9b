# Rows that are drawn longer and longer, by a function that is told the number of the step; all by one seed.
import numpy as np
import tensorflow as tf

STEPS, WARMUP, BATCH, PEAK = 96, 16, 8, 0.02
rng = np.random.RandomState(13)


def length_at(step):
    return min(4 + step // 16, 9)


def rate_at(step):
    return PEAK * min((step + 1) / WARMUP, (WARMUP / (step + 1)) ** 0.5)


def get_batch(rows, length):
    x = rng.uniform(-1, 1, (rows, length, 1)).astype(np.float32)
    return x, x.mean(axis=1)


model = tf.keras.Sequential([tf.keras.layers.SimpleRNN(4, input_shape=(None, 1)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(PEAK)
step = 0
while step < STEPS:
    optimizer.learning_rate = rate_at(step)
    x, y = get_batch(BATCH, length_at(step))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step += 1
    if step % 24 == 0:
        print("length", x.shape[1], "loss", float(loss))
