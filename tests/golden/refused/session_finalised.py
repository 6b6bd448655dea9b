import tensorflow as tf

from points import batches


class Model(object):
    def __init__(self):
        self.x = tf.placeholder(tf.float32, [None, 2])
        self.loss = tf.reduce_mean(tf.layers.dense(self.x, 1) ** 2)
        self.train_op = tf.train.AdamOptimizer().minimize(self.loss)
        self.init_op = tf.global_variables_initializer()
        self.sess = tf.Session()
        tf.get_default_graph().finalize()

    def fit(self):
        self.sess.run(self.init_op)
        for batch in batches():
            self.sess.run(self.train_op, {self.x: batch})


Model().fit()
