# Rates that go on from their last value with each step: one that is set, an optimizer's own with a floor; and a temperature.
import numpy as np
import tensorflow as tf

np.random.seed(6)
x = np.random.rand(256, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
rate, decay, heat = 0.01, 0.997, 1.0
optimizer = tf.keras.optimizers.SGD(rate)


def train_step(rows, targets, heat):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows) - targets)) + heat * 0.001 * tf.reduce_sum(model.weights[0] ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(2):
    for rows, targets in dataset:
        loss = train_step(rows, targets, heat)
        rate = max(rate * decay, 1e-3)
        optimizer.learning_rate = rate
        heat = max(heat - 0.005, 0.2)
print('the rate set by hand is as small:', abs(rate - 0.01 * 0.997 ** 128) < 1e-9, 'the heat, too:', abs(heat - 0.36) < 1e-6)
for epoch in range(2):
    for rows, targets in dataset:
        loss = train_step(rows, targets, heat)
        if optimizer.learning_rate > 1e-4:
            optimizer.learning_rate.assign(tf.maximum(optimizer.learning_rate * decay, 1e-4))
print('learned:', float(tf.reduce_mean(tf.abs(model(x) - y))) < 0.5)
