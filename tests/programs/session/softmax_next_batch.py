"""Which digit is it? One layer, trained batch by batch."""
from __future__ import print_function

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

digits = input_data.read_data_sets("digits/", one_hot=True)

RATE = 0.05
PASSES = 3
BATCH = 25

pixels = tf.placeholder(tf.float32, [None, 784])
truth = tf.placeholder(tf.float32, [None, 10])

# one weight for each pixel and digit
scale = tf.Variable(tf.random_normal([784, 10], stddev=0.01))
shift = tf.Variable(tf.zeros([10]))

scores = tf.nn.softmax(tf.matmul(pixels, scale) + shift)
surprise = tf.reduce_mean(-tf.reduce_sum(truth * tf.log(scores + 1e-8), reduction_indices=1))
improve = tf.train.GradientDescentOptimizer(RATE).minimize(surprise)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())

    for number in range(PASSES):
        mean = 0.
        batches = int(digits.train.num_examples / BATCH)
        for _ in range(batches):
            images, labels = digits.train.next_batch(BATCH)
            _, value = sess.run([improve, surprise], feed_dict={pixels: images, truth: labels})
            mean += value / batches
        print("pass", '%02d' % (number + 1), "surprise", "{:.6f}".format(mean))

    right = tf.equal(tf.argmax(scores, 1), tf.argmax(truth, 1))
    share = tf.reduce_mean(tf.cast(right, tf.float32))
    print("right:", share.eval({pixels: digits.test.images, truth: digits.test.labels}))
