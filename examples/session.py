"""TensorFlow 1, a Session: fits a line, with a batch of its own in each step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x_data = np.linspace(0, 1, 256).astype("float32")
y_data = 3 * x_data + 1

x = tf.placeholder(tf.float32, [None])
y = tf.placeholder(tf.float32, [None])
slope = tf.Variable(0.0)
offset = tf.Variable(0.0)
loss = tf.reduce_mean(tf.square(slope * x + offset - y))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(20):
        for start in range(0, len(x_data), 32):
            sess.run(train_op, feed_dict={x: x_data[start : start + 32], y: y_data[start : start + 32]})
    print("slope", sess.run(slope), "offset", sess.run(offset))
