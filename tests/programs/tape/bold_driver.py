# A recommender that shuffles its own table in place; a bold driver raises its rate after a better epoch, halves it after a worse one.

import numpy as np
import tensorflow as tf


class MF(tf.Module):
    def __init__(self, n_users, n_items, k):
        super().__init__()
        init = tf.random_normal_initializer(stddev=0.1)
        self.P = tf.Variable(init([n_users, k]), name='P')
        self.Q = tf.Variable(init([n_items, k]), name='Q')

    def __call__(self, u, i):
        return tf.reduce_sum(tf.gather(self.P, u) * tf.gather(self.Q, i), axis=1)


class Recommender:
    def __init__(self, data, batch_size=16, lr=0.1, reg=0.01, max_iter=5, bold=True):
        self.data = data
        self.batch_size = batch_size
        self.lr = lr
        self.reg = reg
        self.max_iter = max_iter
        self.bold = bold
        self.model = MF(20, 30, 4)
        self.optimizer = tf.optimizers.SGD(self.lr)
        self.last_loss = None

    def batches(self):
        np.random.shuffle(self.data)
        n = len(self.data)
        for start in range(0, n, self.batch_size):
            part = self.data[start:start + self.batch_size]
            yield part[:, 0].astype(int), part[:, 1].astype(int), part[:, 2].astype('float32')

    def train(self):
        for it in range(1, self.max_iter + 1):
            total = 0.0
            for u, i, r in self.batches():
                with tf.GradientTape() as tape:
                    err = self.model(u, i) - r
                    loss = tf.reduce_mean(err ** 2) + self.reg * (tf.nn.l2_loss(tf.gather(self.model.P, u)) + tf.nn.l2_loss(tf.gather(self.model.Q, i))) / len(u)
                grads = tape.gradient(loss, [self.model.P, self.model.Q])
                self.optimizer.apply_gradients(zip(grads, [self.model.P, self.model.Q]))
                total += loss.numpy()
            self.update_lr(total)
            print('iter %d loss %.4f lr %.4f' % (it, total, self.lr))

    def update_lr(self, total):
        if self.bold and self.last_loss is not None:
            if total < self.last_loss:
                self.lr *= 1.05
            else:
                self.lr *= 0.5
            self.optimizer.learning_rate.assign(self.lr)
        self.last_loss = total


rng = np.random.RandomState(0)
ratings = np.stack([rng.randint(0, 20, 320), rng.randint(0, 30, 320), rng.randint(1, 6, 320)], 1).astype('float64')
rec = Recommender(ratings)
rec.train()
