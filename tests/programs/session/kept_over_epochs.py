"""A loader that deals out its batches one by one; checkpoints numbered over all epochs, every so many steps and at the end."""
import os
import numpy as np
import tensorflow as tf


class Loader:
    def __init__(self, batch_size):
        generator = np.random.RandomState(5)
        self.rows = generator.normal(size=(96, 3)).astype(np.float32)
        self.marks = {c: i for i, c in enumerate("abc")}
        self.batch_size = batch_size
        self.num_batches = len(self.rows) // batch_size
        self.reset()

    def next_batch(self):
        rows = self.rows[self.at:self.at + self.batch_size]
        self.at += self.batch_size
        return rows, rows.sum(axis=1, keepdims=True)

    def reset(self):
        self.at = 0


EPOCHS, EVERY = 3, 8
os.makedirs("kept", exist_ok=True)
loader = Loader(8)
x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 1])
cost = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
rate = tf.Variable(0.0, trainable=False)
train = tf.train.GradientDescentOptimizer(rate).minimize(cost)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    saver = tf.train.Saver(tf.global_variables(), max_to_keep=None)
    for e in range(EPOCHS):
        sess.run(tf.assign(rate, 0.02 * 0.9 ** e))
        loader.reset()
        for b in range(loader.num_batches):
            rows, sums = loader.next_batch()
            c, _ = sess.run([cost, train], {x: rows, y: sums})
            if (e * loader.num_batches + b) % EVERY == 0 or (e == EPOCHS - 1 and b == loader.num_batches - 1):
                saver.save(sess, os.path.join("kept", "net"), global_step=e * loader.num_batches + b)
                print("kept at %d: %.4f" % (e * loader.num_batches + b, c))
