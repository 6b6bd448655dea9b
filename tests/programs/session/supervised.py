"""A Supervisor opens the session, saves, and goes on from what it saved; its summaries are the program's."""
import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

BATCH = 10
EPOCHS = 3
RATE = 0.05

rng = np.random.RandomState(0)
xs = rng.uniform(-1, 1, size=(200, 2)).astype('float32')
ys = (xs[:, :1] * 2 - xs[:, 1:] + 0.5).astype('float32')

x = tf.placeholder(tf.float32, (None, 2))
y = tf.placeholder(tf.float32, (None, 1))
w = tf.get_variable('w', (2, 1), initializer=tf.glorot_uniform_initializer(seed=3))
b = tf.get_variable('b', (1,), initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.squared_difference(tf.matmul(x, w) + b, y))
tf.summary.scalar('loss', loss)
summaries = tf.summary.merge_all()

step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=step)

sv = tf.train.Supervisor(logdir='logs', summary_op=None, save_model_secs=600)
with sv.managed_session() as sess:
    print('begins with', sess.run(sv.global_step))
    for epoch in range(EPOCHS):
        if sv.should_stop():
            break
        for start in range(0, len(xs), BATCH):
            feed = {x: xs[start:start + BATCH], y: ys[start:start + BATCH]}
            _, value, number = sess.run([train, loss, sv.global_step], feed)
            if number % 10 == 0:
                sv.summary_computed(sess, sess.run(summaries, feed), number)
        print(epoch, 'loss', value)
    sv.saver.save(sess, os.path.join('logs', 'model'), global_step=sv.global_step)
    sv.summary_writer.flush()
