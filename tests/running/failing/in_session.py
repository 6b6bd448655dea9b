import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
index = tf.placeholder(tf.int32, [None])
weights = tf.get_variable("weights", [4, 1])
picked = tf.gather(x, index)
loss = tf.reduce_mean(tf.matmul(picked, weights) ** 2)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
rows = np.ones((8, 4), "float32")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(100):
        session.run(train, {x: rows, index: [0, 1, 12]})
