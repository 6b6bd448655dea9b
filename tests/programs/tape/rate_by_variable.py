# A cosine rate with a warm-up, computed from a variable inside a tf.function; at the end a look at what it came to.
import math

import numpy as np
import tensorflow as tf

EPOCHS = 3
BATCH = 8
TOTAL = 120
WARM_UP = 20
RATE = 0.1

rng = np.random.RandomState(3)
x = rng.uniform(-1, 1, (320, 3)).astype('float32')
y = (x @ [[1.0], [-2.0], [0.5]]).astype('float32')
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
optimizer = tf.keras.optimizers.SGD(RATE)
step = tf.Variable(0, dtype=tf.int64, trainable=False)


@tf.function
def train_step(features, targets):
    done = tf.cast(step, tf.float32)
    cosine = 0.5 * RATE * (1 + tf.cos(math.pi * done / TOTAL))
    optimizer.learning_rate.assign(RATE * (done + 1) / WARM_UP if step < WARM_UP else cosine)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - targets))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    step.assign_add(1)
    return loss


for epoch in range(EPOCHS):
    for features, targets in dataset:
        loss = train_step(features, targets)
        if int(step) % 12 == 0:
            print('step', int(step), 'rate %.4f' % optimizer.learning_rate.numpy(), 'loss %.4f' % loss.numpy())
