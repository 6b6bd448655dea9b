# Rows are selected by the number of the step, which decides about the rate and about what is printed, too.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
STEPS, BATCH, ROWS = 72, 8, 192
rng = np.random.RandomState(3)
data = rng.uniform(-1, 1, (ROWS, 5)).astype("float32")
targets = data.sum(axis=1, keepdims=True)

x = tf.placeholder(tf.float32, [None, 5])
y = tf.placeholder(tf.float32, [None, 1])
rate = tf.placeholder(tf.float32, [])
weights = tf.Variable(tf.zeros([5, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    step, speed = 0, 0.02
    while step < STEPS:
        i = step * BATCH % ROWS
        _, l = sess.run([train, loss], {x: data[i : i + BATCH], y: targets[i : i + BATCH], rate: speed})
        step += 1
        if step == 36:
            speed *= 0.1
        if step % 12 == 0:
            print("loss", l)
