"""Two sessions of TensorFlow 1, for the probe to look at: the second goes on with what the first has saved."""

import numpy as np
import tensorflow as tf

BATCH = 8

rng = np.random.RandomState(0)
rows = rng.normal(size=(160, 3)).astype("float32")
goals = np.abs(rows).sum(axis=1, keepdims=True)

x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 1])
hidden = tf.layers.dense(x, 5, tf.nn.relu)
loss = tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1))
tf.summary.scalar("loss", loss)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01, step, 10, 0.8)
train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
summary = tf.summary.merge_all()
init = tf.global_variables_initializer()
saver = tf.train.Saver()


def train(sess, writer):
    for start in range(0, len(rows), BATCH):
        feed = {x: rows[start : start + BATCH], y: goals[start : start + BATCH]}
        _, said, at = sess.run([train_op, summary, step], feed_dict=feed)
        writer.add_summary(said, at)
    print("loss", sess.run(loss, feed_dict={x: rows, y: goals}))


with tf.Session() as sess:
    sess.run(init)
    writer = tf.summary.FileWriter("logs", sess.graph)
    train(sess, writer)
    saver.save(sess, "saved/model")

with tf.Session() as sess:
    sess.run(init)
    saver.restore(sess, "saved/model")
    train(sess, writer)
