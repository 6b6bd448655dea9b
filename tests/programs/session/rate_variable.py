import numpy as np
import tensorflow as tf

position = np.linspace(-2, 2, 96).reshape(-1, 1)
height = np.abs(position) + np.random.RandomState(2).normal(0, 0.05, position.shape)


def layer(below, fan_in, fan_out, bend=None):
    w = tf.Variable(tf.truncated_normal([fan_in, fan_out]))
    b = tf.Variable(tf.constant(0.1, shape=[1, fan_out]))
    out = tf.matmul(below, w) + b
    return out if bend is None else bend(out)


x = tf.placeholder(tf.float32, [None, 1])
y = tf.placeholder(tf.float32, [None, 1])
surface = layer(layer(x, 1, 5, tf.nn.relu), 5, 1)
loss = tf.reduce_mean(tf.square(y - surface))

lr = tf.Variable(0.02, dtype=tf.float32, trainable=False)
lower = tf.assign(lr, lr * 0.8)
train_step = tf.train.GradientDescentOptimizer(lr).minimize(loss)

sess = tf.Session()
init = tf.global_variables_initializer()
sess.run(init)

batch_size = 12
for epoch in range(3):
    for start in range(0, 96, batch_size):
        sess.run(train_step, feed_dict={x: position[start:start + batch_size], y: height[start:start + batch_size]})
    sess.run(lower)
    print("loss", sess.run(loss, feed_dict={x: position, y: height}))
sess.close()
