"""One process, one session, no recovery."""
import numpy as np
import tensorflow as tf

x_all = np.random.RandomState(3).normal(size=(120, 3))
y_all = (x_all > 0).sum(axis=1, keepdims=True)

a = tf.placeholder(tf.float32, [None, 3])
b = tf.placeholder(tf.float32, [None, 1])
mean = tf.reduce_mean((tf.layers.dense(a, 1) - b) ** 2)
global_step = tf.train.get_or_create_global_step()
optimizer = tf.train.RMSPropOptimizer(learning_rate=0.01)
train_op = optimizer.minimize(mean, global_step=global_step)

with tf.train.SingularMonitoredSession(hooks=[tf.train.NanTensorHook(mean)], checkpoint_dir='ckpt') as sess:
    for epoch in range(2):
        for i in range(10):
            sess.run(train_op, feed_dict={a: x_all[i * 12:(i + 1) * 12], b: y_all[i * 12:(i + 1) * 12]})
    print('loss %.5f' % sess.raw_session().run(mean, feed_dict={a: x_all, b: y_all}))
