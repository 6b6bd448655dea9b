# What functions and objects are asked: hooks in a list, a stopper that is told losses, a plateau, parts of a cycle of steps.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)
x = rng.uniform(-1, 1, (192, 4)).astype("float32")
y = np.sin(2 * x[:, :1]) + x[:, 1:2]
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.02)


class Stopper:
    def __init__(self, patience):
        self.best, self.bad, self.patience = 1e9, 0, patience

    def is_enough(self, loss):
        if loss < self.best - 1e-3:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
            if self.bad == 2:
                optimizer.learning_rate.assign(optimizer.learning_rate * 0.5)
        return self.bad > self.patience


class Training:
    def __init__(self, stopper):
        self.stopper, self.hooks, self.step = stopper, [], 0

    def add(self, hook):
        self.hooks.append(hook)

    def one(self, rows, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(rows) - targets) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        self.step += 1
        for hook in self.hooks:
            hook(self.step)
        return float(loss)

    def run(self, epochs):
        for epoch in range(epochs):
            losses = [self.one(rows, targets) for rows, targets in data]
            if self.stopper.is_enough(np.mean(losses)):
                break


def counting():
    count = 0

    def count_on(step):
        nonlocal count
        count += 1
        if count % 24 == 0:
            print("an epoch's worth")

    return count_on


def save(step):
    if step % 48 == 0:
        model.save_weights("kept.weights.h5")
        print("kept")


def cool(step):
    late = step % 96 >= 72
    if late and 0 < step < 400:
        optimizer.learning_rate = 0.01
    elif step % 96 < 12:
        optimizer.learning_rate = 0.02


training = Training(Stopper(4))
training.add(save)
training.add(cool)
training.add(counting())
training.run(12)
print("learned:", float(tf.reduce_mean((model(x) - y) ** 2)) < 0.3)
