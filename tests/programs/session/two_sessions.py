from __future__ import print_function

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets("mnist/", one_hot=True)
PLACE = "./kept/net.ckpt"
BATCH = 50

inputs = tf.placeholder("float", [None, 784])
outputs = tf.placeholder("float", [None, 10])

parts = {
    'in': tf.Variable(tf.random_normal([784, 8], stddev=0.1)),
    'out': tf.Variable(tf.random_normal([8, 10], stddev=0.1)),
}
logits = tf.matmul(tf.nn.relu(tf.matmul(inputs, parts['in'])), parts['out'])
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=outputs))
optimizer = tf.train.AdamOptimizer(learning_rate=0.002).minimize(cost)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(outputs, 1)), "float"))

init = tf.global_variables_initializer()
saver = tf.train.Saver()

# the first session trains and keeps what it has learnt
with tf.Session() as sess:
    sess.run(init)
    for epoch in range(2):
        batches = int(mnist.train.num_examples/BATCH)
        for i in range(batches):
            batch_x, batch_y = mnist.train.next_batch(BATCH)
            _, c = sess.run([optimizer, cost], feed_dict={inputs: batch_x,
                                                          outputs: batch_y})
        print("epoch", epoch, "cost {:.4f}".format(c))
    where = saver.save(sess, PLACE)
    print("kept in", where)

# the second takes it up again, trains once more and is tested
with tf.Session() as sess:
    sess.run(init)
    saver.restore(sess, PLACE)
    for i in range(int(mnist.train.num_examples / BATCH)):
        batch_x, batch_y = mnist.train.next_batch(BATCH)
        sess.run(optimizer, {inputs: batch_x, outputs: batch_y})
    print("right:", accuracy.eval({inputs: mnist.test.images, outputs: mnist.test.labels}))
