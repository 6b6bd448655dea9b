"""Slices of arrays that all ranks share, fed with a rate that falls by epochs; the last slice is shorter."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
BATCH = 16
random = np.random.RandomState(0)
data = random.normal(size=(104, 4)).astype("float32")
labels = data @ np.array([[1.0], [-2.0], [0.5], [3.0]], "float32")
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 1])
rate = tf.placeholder(tf.float32, [])
w = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(5):
        for i in range(0, len(data), BATCH):
            sess.run(train_op, feed_dict={x: data[i : i + BATCH], y: labels[i : i + BATCH], rate: 0.05 / (1 + epoch)})
    print("kernel", sess.run(w).ravel())
