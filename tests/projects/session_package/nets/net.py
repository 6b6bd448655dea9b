import numpy as np
import tensorflow.compat.v1 as tf


class Net:
    def __init__(self, rate):
        self.x = tf.placeholder(tf.float32, [None, 3])
        self.y = tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(np.random.randn(3, 1)))
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x, w) + b - self.y))
        self.train_op = tf.train.GradientDescentOptimizer(rate).minimize(self.loss)

    def fit(self, sess, x, y, batch_size):
        for start in range(0, len(x) - batch_size + 1, batch_size):
            feed = {self.x: x[start : start + batch_size], self.y: y[start : start + batch_size]}
            _, loss = sess.run([self.train_op, self.loss], feed)
        print("loss", loss)
