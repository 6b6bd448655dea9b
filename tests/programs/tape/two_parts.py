# A body and a head, each with an optimizer of its own; the tape is asked for the gradients of both lists at once.
import numpy as np
import tensorflow as tf

BATCH = 8
rng = np.random.RandomState(1)
x = rng.randn(192, 5).astype(np.float32)
y = np.sin(x[:, :1]) + x[:, 1:2]

body = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu", input_shape=(5,))])
head = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(8,))])
slow = tf.keras.optimizers.SGD(0.005)
fast = tf.keras.optimizers.SGD(0.02)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)


@tf.function
def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((head(body(rows)) - targets) ** 2)
    of_body, of_head = tape.gradient(loss, [body.trainable_variables, head.trainable_variables])
    slow.apply_gradients(zip(of_body, body.trainable_variables))
    fast.apply_gradients(zip(of_head, head.trainable_variables))
    return loss


for epoch in range(3):
    for rows, targets in ds:
        loss = train_step(rows, targets)
    print("epoch", epoch, "loss", float(loss))
