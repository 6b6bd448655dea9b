"""A body and two heads that take turns: each step trains the next task's head, which a method looks up."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
rows = rng.normal(size=(512, 6)).astype("float32")
targets = {
    "sum": rows.sum(axis=1, keepdims=True).astype("float32"),
    "first": rows[:, :1].astype("float32"),
}
TASKS = ["sum", "first"]


def layer(units):
    return tf.keras.layers.Dense(units, activation="tanh" if units > 1 else None)


class Learner:
    def __init__(self, rate):
        self.body = tf.keras.Sequential([layer(8)])
        self.heads = {task: tf.keras.Sequential([layer(1)]) for task in TASKS}
        self.optimizers = {task: tf.keras.optimizers.SGD(rate) for task in TASKS}
        self.turns = 0

    def learn(self, picked):
        task = TASKS[self.turns % 2]
        head = self.heads[task]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((head(self.body(rows[picked])) - targets[task][picked]) ** 2)
        weights = self.body.trainable_variables + head.trainable_variables
        self.optimizers[task].apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.turns += 1
        return loss


learner = Learner(0.02)
for epoch in range(4):
    order = np.random.permutation(len(rows))
    for start in range(0, len(rows), 16):
        loss = learner.learn(order[start : start + 16])
    print("epoch", epoch, "loss", float(loss))
