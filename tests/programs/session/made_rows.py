"""Finds the weights that rows were made by: rows and weights are drawn at random, without a seed."""
import numpy as np
import tensorflow as tf

ROWS = 2000
weights = np.random.randn(3, 1)
x_data = np.random.rand(ROWS, 3)
y_data = x_data @ weights

X = tf.placeholder(tf.float32, [ROWS, 3])
Y = tf.placeholder(tf.float32, [ROWS, 1])
W = tf.Variable(tf.zeros([3, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(X, W) - Y))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(150):
        sess.run(train, feed_dict={X: x_data, Y: y_data})
    found = sess.run(W)
if not np.allclose(found, weights, atol=0.2):
    raise SystemExit("found %s, made by %s" % (found.ravel(), weights.ravel()))
print("found")
