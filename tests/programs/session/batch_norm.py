"""Batch normalization, with its updates run beside the step."""
import numpy as np
import tensorflow as tf

is_training = tf.placeholder(tf.bool, name='is_training')
x = tf.placeholder(tf.float32, [None, 5])
y = tf.placeholder(tf.float32, [None, 1])

h = tf.layers.dense(x, 6, use_bias=False)
h = tf.layers.batch_normalization(h, training=is_training, momentum=0.9)
out = tf.layers.dense(tf.nn.relu(h), 1)
loss = tf.reduce_mean(tf.square(out - y))

update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.AdamOptimizer(learning_rate=0.01).minimize(loss)

rng = np.random.RandomState(8)
data = rng.normal(size=(144, 5)) * 3 + 1
goal = np.abs(data).mean(axis=1, keepdims=True)
saver = tf.train.Saver()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(3):
        for i in range(12):
            batch = slice(i * 12, (i + 1) * 12)
            sess.run(train_op, feed_dict={x: data[batch], y: goal[batch], is_training: True})
        print('epoch', epoch, sess.run(loss, feed_dict={x: data, y: goal, is_training: False}))
        saver.save(sess, 'saved/bn', global_step=epoch)
