"""TensorFlow 1, a Session: fits a line. Horovodize names it and refuses it: Session scripts are not supported yet."""

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
train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(200):
        sess.run(train_op, feed_dict={x: x_data, y: y_data})
    print("slope", sess.run(slope), "offset", sess.run(offset))
