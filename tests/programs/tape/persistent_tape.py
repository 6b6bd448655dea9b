import tensorflow as tf
import numpy as np
from tensorflow.keras import layers, optimizers

# Wide and deep: each part has an optimizer of its own.
np.random.seed(77)
x_data = np.random.randn(320, 6).astype(np.float32)
y_data = (0.8 * x_data[:, 0] + np.maximum(x_data[:, 1], 0) * x_data[:, 2]).astype(np.float32).reshape(-1, 1)

deep = tf.keras.Sequential([layers.Dense(12, activation='relu'), layers.Dense(1)])
wide = tf.keras.Sequential([layers.Dense(1, use_bias=False)])
deep.build((None, 6))
wide.build((None, 6))

deep_optimizer = optimizers.Adam(learning_rate=2e-3)
wide_optimizer = optimizers.SGD(1e-2, momentum=0.5)

dataset = tf.data.Dataset.from_tensor_slices((x_data, y_data)).shuffle(320, seed=1).batch(16)


@tf.function
def train_step(x, y):
    with tf.GradientTape(persistent=True) as tape:
        prediction = deep(x) + wide(x)
        loss = tf.reduce_mean((prediction - y) ** 2)
        penalty = loss + 0.01 * tf.nn.l2_loss(wide.trainable_variables[0])
    deep_grads = tape.gradient(loss, deep.trainable_variables)
    wide_grads = tape.gradient(penalty, wide.trainable_variables)
    del tape
    deep_optimizer.apply_gradients(zip(deep_grads, deep.trainable_variables))
    wide_optimizer.apply_gradients(zip(wide_grads, wide.trainable_variables))
    return loss


for epoch in range(3):
    losses = []
    for batch, (x, y) in enumerate(dataset):
        loss = train_step(x, y)
        losses.append(float(loss))
    tf.print('epoch', epoch, 'mean loss', sum(losses) / len(losses))
