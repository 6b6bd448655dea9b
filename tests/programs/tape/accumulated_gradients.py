"""Gradients of four batches are added up in variables before an optimizer applies them."""
import numpy as np
import tensorflow as tf

EVERY, BATCH, EPOCHS = 4, 8, 2

rng = np.random.RandomState(0)
x = rng.normal(size=(256, 5)).astype("float32")
y = (x @ rng.normal(size=(5, 1))).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)

model = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh", input_shape=(5,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(learning_rate=0.05, momentum=0.5)
gathered = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]


@tf.function
def accumulate(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(features, training=True) - targets)) / EVERY
    gradients = tape.gradient(loss, model.trainable_variables)
    for total, gradient in zip(gathered, gradients):
        total.assign_add(gradient)
    return loss


@tf.function
def update():
    gradients, _ = tf.clip_by_global_norm([total.read_value() for total in gathered], 5.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    for total in gathered:
        total.assign(tf.zeros_like(total))


for epoch in range(EPOCHS):
    for number, (features, targets) in enumerate(data, start=1):
        loss = accumulate(features, targets)
        if number % EVERY == 0:
            update()
    print("epoch", epoch, "finite:", bool(tf.math.is_finite(loss)))
model.save_weights("accumulated.h5")
