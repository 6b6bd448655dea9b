# A session that stops at a step, and a count of its own that selects the rows
import numpy as np
import tensorflow as tf
X_ALL = np.random.RandomState(0).rand(96, 2).astype(np.float32)
Y_ALL = X_ALL[:, :1] * 2
B = 8
x = tf.placeholder(tf.float32, [None, 2])
y = tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - y))
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=240)]
with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
    i = 0
    while not sess.should_stop():
        start = i * B % len(X_ALL)
        sess.run(train, {x: X_ALL[start:start + B], y: Y_ALL[start:start + B]})
        i += 1
