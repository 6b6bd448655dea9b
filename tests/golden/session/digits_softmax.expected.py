"""Softmax regression on handwritten digits."""
from __future__ import print_function

import tensorflow as tf
import horovod.tensorflow as hvd
from tensorflow.examples.tutorials.mnist import input_data

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))

if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    input_data.read_data_sets("/tmp/digits/", one_hot=True)
with tf.Graph().as_default(), tf.Session(config=config) as waiting:
    waiting.run(hvd.allreduce(tf.random_uniform([]), name="downloaded"))
mnist = input_data.read_data_sets("/tmp/digits/", one_hot=True)

# Parameters
learning_rate = 0.01
training_epochs = 25
batch_size = 100
display_step = 1

x = tf.placeholder(tf.float32, [None, 784])  # 28 * 28
y = tf.placeholder(tf.float32, [None, 10])

W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
pred = tf.nn.softmax(tf.matmul(x, W) + b)

cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred), reduction_indices=1))
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(learning_rate * hvd.size())).minimize(cost)

init = tf.global_variables_initializer()

with tf.Session(config=config) as sess:
    sess.run(init)
    sess.run(hvd.broadcast_global_variables(root_rank=0))

    for epoch in range(training_epochs):
        avg_cost = 0.
        total_batch = max(1, int(mnist.train.num_examples / batch_size) // hvd.size())
        for i in range(total_batch):
            batch_xs, batch_ys = [mnist.train.next_batch(batch_size) for _ in range(hvd.size())][hvd.rank()]
            _, c = sess.run([optimizer, cost], feed_dict={x: batch_xs,
                                                          y: batch_ys})
            avg_cost += c / total_batch
        if (epoch + 1) % display_step == 0 and hvd.rank() == 0:
            print("Epoch:", "%04d" % (epoch + 1), "cost=", "{:.9f}".format(avg_cost))

    if hvd.rank() == 0:
        print("Optimization finished")
    correct = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    if hvd.rank() == 0:
        print("Accuracy:", accuracy.eval({x: mnist.test.images, y: mnist.test.labels}))
