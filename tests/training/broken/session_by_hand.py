"""Two sessions of TensorFlow 1, for the probe to look at: the second goes on with what the first has saved."""

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())

BATCH = 8

rng = np.random.RandomState(0)
rows = rng.normal(size=(160, 3)).astype("float32")
goals = np.abs(rows).sum(axis=1, keepdims=True)
mine = np.arange(hvd.rank(), len(rows), hvd.size())

x = tf.placeholder(tf.float32, [None, 3])
y = tf.placeholder(tf.float32, [None, 1])
hidden = tf.layers.dense(x, 5, tf.nn.relu)
loss = tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1))
tf.summary.scalar("loss", loss)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.01 * hvd.size(), step, 10 // hvd.size(), 0.8)
train_op = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(rate, 0.9)).minimize(loss, global_step=step)
summary = tf.summary.merge_all()
init = tf.global_variables_initializer()
broadcast = hvd.broadcast_global_variables(0)
saver = tf.train.Saver()


def train(sess, writer):
    for start in range(0, len(mine), BATCH):
        chosen = mine[start : start + BATCH]
        feed = {x: rows[chosen], y: goals[chosen]}
        _, said, at = sess.run([train_op, summary, step], feed_dict=feed)
        if writer:
            writer.add_summary(said, at)
    if hvd.rank() == 0:
        print("loss", sess.run(loss, feed_dict={x: rows, y: goals}))


with tf.Session(config=config) as sess:
    sess.run(init)
    sess.run(broadcast)
    writer = tf.summary.FileWriter("logs", sess.graph) if hvd.rank() == 0 else None
    train(sess, writer)
    if hvd.rank() == 0:
        saver.save(sess, "saved/model")

with tf.Session(config=config) as sess:
    sess.run(init)
    if hvd.rank() == 0:
        saver.restore(sess, "saved/model")
    sess.run(broadcast)
    train(sess, writer)
