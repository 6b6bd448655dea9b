import argparse

import numpy as np
import tensorflow as tf


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=0.02)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch', type=int, default=12)
    return parser.parse_args()


def train(args):
    rng = np.random.RandomState(1)
    x_train = rng.randn(120, 4)
    y_train = (x_train[:, 0] * x_train[:, 1] > 0).astype(int)

    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.int64, [None])
    lr = tf.placeholder(tf.float32, [], name='lr')

    h = tf.layers.dense(x, 6, tf.nn.relu)
    logits = tf.layers.dense(h, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    train_op = tf.train.AdamOptimizer(learning_rate=lr).minimize(loss)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        learning_rate = args.lr
        for epoch in range(args.epochs):
            order = np.random.permutation(len(x_train))
            for i in range(0, len(x_train), args.batch):
                rows = order[i:i + args.batch]
                _, value = sess.run([train_op, loss], feed_dict={x: x_train[rows], y: y_train[rows], lr: learning_rate})
            learning_rate *= 0.5
            print('epoch', epoch, 'loss', value)


if __name__ == '__main__':
    train(parse())
