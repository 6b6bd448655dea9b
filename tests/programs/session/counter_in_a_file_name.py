# A GAN in a graph whose counter begins at 1 and goes on from the name of its checkpoint; it samples and saves by np.mod.
import os

import numpy as np
import tensorflow as tf


class DCGAN(object):
    def __init__(self, sess, batch_size=8, z_dim=3):
        self.sess = sess
        self.batch_size = batch_size
        self.z_dim = z_dim
        self.build_model()

    def build_model(self):
        self.inputs = tf.placeholder(tf.float32, [self.batch_size, 4], name='real')
        self.z = tf.placeholder(tf.float32, [None, self.z_dim], name='z')
        self.G = self.generator(self.z)
        D, D_logits = self.discriminator(self.inputs)
        D_, D_logits_ = self.discriminator(self.G, reuse=True)
        sce = lambda l, t: tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=l, labels=t))
        self.d_loss = sce(D_logits, tf.ones_like(D)) + sce(D_logits_, tf.zeros_like(D_))
        self.g_loss = sce(D_logits_, tf.ones_like(D_))
        t_vars = tf.trainable_variables()
        self.d_vars = [v for v in t_vars if 'd_' in v.name]
        self.g_vars = [v for v in t_vars if 'g_' in v.name]
        self.saver = tf.train.Saver()

    def generator(self, z):
        with tf.variable_scope('generator'):
            return tf.layers.dense(tf.layers.dense(z, 6, tf.nn.relu, name='g_h0'), 4, name='g_h1')

    def discriminator(self, x, reuse=False):
        with tf.variable_scope('discriminator', reuse=reuse):
            logit = tf.layers.dense(tf.layers.dense(x, 6, tf.nn.relu, name='d_h0'), 1, name='d_h1')
            return tf.nn.sigmoid(logit), logit

    def train(self, config):
        d_optim = tf.train.GradientDescentOptimizer(config['lr']).minimize(self.d_loss, var_list=self.d_vars)
        g_optim = tf.train.GradientDescentOptimizer(config['lr']).minimize(self.g_loss, var_list=self.g_vars)
        tf.global_variables_initializer().run()
        sample_z = np.random.uniform(-1, 1, size=(4, self.z_dim))
        counter = 1
        could_load, checkpoint_counter = self.load(config['dir'])
        if could_load:
            counter = checkpoint_counter
            print(' [*] Load SUCCESS', counter)
        else:
            print(' [!] Load failed...')
        data = config['data']
        for epoch in range(config['epoch']):
            batch_idxs = len(data) // self.batch_size
            for idx in range(0, batch_idxs):
                batch = data[idx * self.batch_size:(idx + 1) * self.batch_size]
                batch_z = np.random.uniform(-1, 1, [self.batch_size, self.z_dim]).astype(np.float32)
                self.sess.run(d_optim, feed_dict={self.inputs: batch, self.z: batch_z})
                self.sess.run(g_optim, feed_dict={self.z: batch_z})
                self.sess.run(g_optim, feed_dict={self.z: batch_z})
                errG = self.g_loss.eval({self.z: batch_z})
                counter += 1
                if np.mod(counter, 15) == 1:
                    samples = self.sess.run(self.G, feed_dict={self.z: sample_z})
                    np.save('train_{:02d}_{:04d}.npy'.format(epoch, counter), samples)
                    print('[Sample] g_loss: %.6f' % errG)
                if np.mod(counter, 20) == 2:
                    self.save(config['dir'], counter)
                    print('saved')

    def save(self, checkpoint_dir, step):
        if not os.path.exists(checkpoint_dir):
            os.makedirs(checkpoint_dir)
        self.saver.save(self.sess, os.path.join(checkpoint_dir, 'DCGAN.model'), global_step=step)

    def load(self, checkpoint_dir):
        import re
        ckpt = tf.train.get_checkpoint_state(checkpoint_dir)
        if ckpt and ckpt.model_checkpoint_path:
            ckpt_name = os.path.basename(ckpt.model_checkpoint_path)
            self.saver.restore(self.sess, os.path.join(checkpoint_dir, ckpt_name))
            counter = int(next(re.finditer(r"(\d+)(?!.*\d)", ckpt_name)).group(0))
            return True, counter
        return False, 0


def main(_):
    data = np.random.RandomState(0).normal(size=(144, 4)).astype('float32')
    with tf.Session() as sess:
        DCGAN(sess).train({'lr': 0.02, 'epoch': 3, 'dir': 'checkpoint', 'data': data})


if __name__ == '__main__':
    tf.app.run()
