"""Rows are taken by variables that the loops move on themselves: one in a `while`, one in an object that deals out."""

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

BATCH = 8
rng = np.random.RandomState(3)
rows = rng.randn(64, 3).astype(np.float32)
targets = rows.sum(axis=1, keepdims=True)

x = tf1.placeholder(tf.float32, [None, 3])
y = tf1.placeholder(tf.float32, [None, 1])
w = tf1.get_variable("w", [3, 1])
loss = tf1.losses.mean_squared_error(y, tf.matmul(x, w))
train_op = tf1.train.GradientDescentOptimizer(0.02).minimize(loss)


class Dealer:
    def __init__(self):
        self.at = 0

    def some(self, n):
        if self.at + n > len(rows):
            self.at = 0
        first = self.at
        self.at += n
        return rows[first : self.at], targets[first : self.at]


data = Dealer()
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    row = 0
    while row < len(rows):
        last = row + BATCH
        sess.run(train_op, feed_dict={x: rows[row:last], y: targets[row:last]})
        row += BATCH
    print("first epoch done")
    for step in range(len(rows) // BATCH):
        images, labels = data.some(BATCH)
        sess.run(train_op, feed_dict={x: images, y: labels})
    print("second epoch done")
