"""Stops when the error is small enough."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
X_train = rng.normal(size=(90, 2))
Y_train = X_train.dot([[0.5], [-0.5]])

X = tf.placeholder(tf.float32, [None, 2])
Y = tf.placeholder(tf.float32, [None, 1])
W = tf.Variable(tf.zeros([2, 1]))
cost = tf.reduce_mean(tf.square(tf.matmul(X, W) - Y))
train = tf.train.FtrlOptimizer(0.2).minimize(cost)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(50):
        for i in range(0, len(X_train), 10):
            _, c = sess.run([train, cost], feed_dict={X: X_train[i:i + 10], Y: Y_train[i:i + 10]})
        if c < 0.02:
            print('good enough')
            break
    print(sess.run(cost, feed_dict={X: X_train, Y: Y_train}) < 0.05)
