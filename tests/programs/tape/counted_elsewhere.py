# Counts over epochs by which a table is read and something happens; a scheduler that takes a step as it begins.
import numpy as np
import tensorflow as tf

np.random.seed(6)
x = np.random.rand(256, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
epochs, batch = 4, 4
steps = len(x) // batch
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.02)
heats = np.linspace(1.0, 0.0, epochs * steps)
heat = tf.Variable(1.0, trainable=False)


class Falling:
    def __init__(self, total):
        self.count, self.total = 0, total
        self.step()

    def step(self):
        optimizer.learning_rate = 0.02 * (1 - self.count / self.total)
        self.count += 1


def train_step(rows, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows) - targets)) + heat * 0.001 * tf.reduce_sum(model.weights[0] ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


falling = Falling(2 * epochs * steps)
events = 0
for epoch in range(epochs):
    order = np.random.permutation(len(x))
    for i in range(steps):
        turn = epoch * steps + i
        heat.assign(heats[turn])
        chosen = order[i * batch:(i + 1) * batch]
        loss = train_step(x[chosen], y[chosen])
        falling.step()
        if (turn + 1) % 64 == 0:
            events += 1
print('events:', events, 'the heat has gone:', float(heat) < 0.05)
print('learned:', float(tf.reduce_mean(tf.abs(model(x) - y))) < 0.5)
