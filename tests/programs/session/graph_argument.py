# A graph of its own, and steps that wrap around the data
import numpy as np
import tensorflow as tf

KINDS = 3
SIZE = 16
BATCH = 16
STEPS = 48

random = np.random.RandomState(5)
kind = random.randint(KINDS, size=200)
signals = (random.normal(size=(200, SIZE)) + kind[:, None]).astype(np.float32)
kinds = np.eye(KINDS, dtype=np.float32)[kind]
held_x, held_y = signals[180:], kinds[180:]
train_x, train_y = signals[:180], kinds[:180]


def percent(scores, truth):
  return 100.0 * np.mean(np.argmax(scores, 1) == np.argmax(truth, 1))


graph = tf.Graph()
with graph.as_default():
  batch_x = tf.placeholder(tf.float32, shape=(BATCH, SIZE))
  batch_y = tf.placeholder(tf.float32, shape=(BATCH, KINDS))

  w = tf.Variable(tf.truncated_normal([SIZE, KINDS]))
  b = tf.Variable(tf.zeros([KINDS]))

  logits = tf.matmul(batch_x, w) + b
  loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=batch_y, logits=logits))
  optimizer = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

  scores = tf.nn.softmax(logits)
  held_scores = tf.nn.softmax(tf.matmul(tf.constant(held_x), w) + b)

with tf.Session(graph=graph) as session:
  tf.global_variables_initializer().run()
  for step in range(STEPS):
    start = (step * BATCH) % (train_y.shape[0] - BATCH)
    feed_dict = {batch_x : train_x[start:(start + BATCH), :], batch_y : train_y[start:(start + BATCH), :]}
    _, now, predicted = session.run([optimizer, loss, scores], feed_dict=feed_dict)
    if (step % 16 == 0):
      print("%d: loss %f, %.1f%% of the batch" % (step, now, percent(predicted, feed_dict[batch_y])))
      print("    %.1f%% of those held out" % percent(held_scores.eval(), held_y))
