"""A class that keeps its session, and goes on where an earlier run left off."""
import os

import numpy as np
import tensorflow as tf


class Sorter(object):
    """Tells two kinds of points apart."""

    def __init__(self, sess, folder='checkpoint', learning_rate=0.01):
        self.sess = sess
        self.folder = folder
        self.learning_rate = learning_rate
        self._build()

    def _build(self):
        self.points = tf.placeholder(tf.float32, [None, 6])
        self.kinds = tf.placeholder(tf.float32, [None, 2])
        with tf.variable_scope('sorter'):
            hidden = tf.layers.dense(self.points, 5, tf.nn.relu)
            logits = tf.layers.dense(hidden, 2)
        self.loss = tf.reduce_mean(
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=self.kinds, logits=logits))
        self.optimize = tf.train.AdamOptimizer(self.learning_rate, beta1=0.5).minimize(self.loss)
        self.saver = tf.train.Saver(max_to_keep=1)

    def fit(self, points, kinds, epochs=2, batch_size=15):
        self.sess.run(tf.global_variables_initializer())
        if self.restore():
            print('going on')
        else:
            print('a new start')

        for epoch in range(epochs):
            for start in range(0, len(points), batch_size):
                _, loss = self.sess.run([self.optimize, self.loss],
                                        feed_dict={self.points: points[start:start + batch_size],
                                                   self.kinds: kinds[start:start + batch_size]})
            print('epoch %d loss %.6f' % (epoch, loss))
        self.keep()

    def keep(self):
        if not os.path.exists(self.folder):
            os.makedirs(self.folder)
        self.saver.save(self.sess, os.path.join(self.folder, 'sorter'))

    def restore(self):
        state = tf.train.get_checkpoint_state(self.folder)
        if state and state.model_checkpoint_path:
            self.saver.restore(self.sess, state.model_checkpoint_path)
            return True
        return False


def main():
    rng = np.random.RandomState(11)
    points = rng.normal(size=(150, 6))
    kinds = np.eye(2)[(points[:, 0] > points[:, 1]).astype(int)]
    with tf.Session() as sess:
        Sorter(sess).fit(points, kinds)


if __name__ == '__main__':
    main()
