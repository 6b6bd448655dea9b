"""Batches from an iterator that is started anew for each epoch."""
import numpy as np
import tensorflow as tf

EPOCHS = 3

rng = np.random.RandomState(4)
x_train = rng.normal(size=(126, 4)).astype(np.float32)
y_train = (x_train ** 2).sum(axis=1, keepdims=True)
x_test, y_test = x_train[:20] + 0.1, y_train[:20]

dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))
dataset = dataset.shuffle(126).batch(12)
iterator = dataset.make_initializable_iterator()
features, target = iterator.get_next()


def net(x, reuse=False):
    with tf.variable_scope('net', reuse=reuse):
        x = tf.layers.dense(x, 8, activation=tf.nn.relu)
        return tf.layers.dense(x, 1)


loss = tf.losses.mean_squared_error(target, net(features))
test_loss = tf.losses.mean_squared_error(y_test, net(tf.constant(x_test), reuse=True))
train_op = tf.train.AdagradOptimizer(learning_rate=0.05).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        sess.run(iterator.initializer)
        losses = []
        while True:
            try:
                _, value = sess.run([train_op, loss])
                losses.append(value)
            except tf.errors.OutOfRangeError:
                break
        print('epoch', epoch, 'train', np.mean(losses), 'test', sess.run(test_loss))
