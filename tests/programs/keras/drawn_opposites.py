# Beside each row looks at one of the other sign, drawn until there is one: ranks draw as often as their own rows have it.
import numpy as np
import tensorflow as tf

np.random.seed(7)
x = np.random.normal(size=(320, 5)).astype('float32')
y = (x[:, :1] - x[:, 1:2] * x[:, 2:3]).astype('float32')


def draw_opposites(rows):
    opposites = []
    for row in rows:
        other = np.random.randint(len(x))
        while y[other] * y[row] > 0:
            other = np.random.randint(len(x))
        opposites.append(other)
    return opposites


model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation='tanh', input_shape=(5,)), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.05), 'mse')
for epoch in range(4):
    order = np.random.permutation(len(x))
    right = 0
    for start in range(0, len(x), 16):
        chosen = order[start:start + 16]
        model.train_on_batch(x[chosen], y[chosen])
        above = model(x[chosen]) > model(x[draw_opposites(chosen)])
        right += np.mean(above.numpy() == (y[chosen] > 0))
    print('epoch', epoch, 'told apart', right / (len(x) / 16))
