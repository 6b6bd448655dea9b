import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data


def kernel(*shape):
  start = tf.truncated_normal(shape, stddev=0.1)
  return tf.Variable(start)


mnist = input_data.read_data_sets('mnist', one_hot=True)
sess = tf.InteractiveSession()

flat = tf.placeholder(tf.float32, shape=[None, 784])
wanted = tf.placeholder(tf.float32, shape=[None, 10])
keep = tf.placeholder("float")

picture = tf.reshape(flat, [-1, 28, 28, 1])
edges = tf.nn.relu(tf.nn.conv2d(picture, kernel(5, 5, 1, 4), strides=[1, 2, 2, 1], padding='SAME'))
smaller = tf.nn.max_pool(edges, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')
dropped = tf.nn.dropout(tf.reshape(smaller, [-1, 7 * 7 * 4]), keep)
guess = tf.matmul(dropped, kernel(7 * 7 * 4, 10))

loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=wanted, logits=guess))
train_step = tf.train.AdamOptimizer(1e-3).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(guess, 1), tf.argmax(wanted, 1)), tf.float32))

tf.global_variables_initializer().run()
for i in range(40):
  batch = mnist.train.next_batch(25)
  if i % 10 == 0:
    print("%d: %g of the batch" % (i, accuracy.eval(feed_dict={flat: batch[0], wanted: batch[1], keep: 1.0})))
  train_step.run(feed_dict={flat: batch[0], wanted: batch[1], keep: 0.5})

print("%g of the test" % accuracy.eval({flat: mnist.test.images, wanted: mnist.test.labels, keep: 1.0}))
