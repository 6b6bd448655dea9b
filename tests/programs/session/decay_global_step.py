"""A rate that decays with the global step, and momentum."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

BATCH = 10
EPOCHS = 3

rng = np.random.RandomState(0)
xs = rng.uniform(-1, 1, size=(200, 2)).astype('float32')
ys = (xs[:, :1] * 2 - xs[:, 1:] + 0.5).astype('float32')

x = tf.placeholder(tf.float32, (None, 2))
y = tf.placeholder(tf.float32, (None, 1))
w = tf.get_variable('w', (2, 1), initializer=tf.glorot_uniform_initializer())
b = tf.get_variable('b', (1,), initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.squared_difference(tf.matmul(x, w) + b, y))

step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.05, step, decay_steps=20, decay_rate=0.7, staircase=True)
opt = tf.train.MomentumOptimizer(rate, momentum=0.9)
train = opt.minimize(loss, global_step=step)

with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for epoch in range(EPOCHS):
        for start in range(0, len(xs), BATCH):
            _, value = sess.run([train, loss], {x: xs[start:start + BATCH], y: ys[start:start + BATCH]})
        print(epoch, 'loss', value)
