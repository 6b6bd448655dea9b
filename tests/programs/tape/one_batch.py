"""A line through 48 points, all in the one batch of a data set; the rate falls by the optimizer's own count of steps."""
import numpy as np
import tensorflow as tf

tf.random.set_seed(3)
x = np.linspace(-1, 1, 48, dtype=np.float32)[:, np.newaxis]
y = 3 * x + 0.5
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.3, 10, 0.8)
optimizer = tf.keras.optimizers.SGD(rate)
mse = tf.keras.losses.MeanSquaredError()

for epoch in range(30):
    for points, values in dataset:
        with tf.GradientTape() as tape:
            loss = mse(values, model(points))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if epoch % 10 == 9:
        print("epoch", epoch + 1)
