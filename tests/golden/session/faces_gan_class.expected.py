import os
import numpy as np
import tensorflow as tf
import types
import horovod.tensorflow as hvd
import pictures

hvd.init()  # each process is a rank


def rounds(items):  # each turn: an item that all ranks count by (at the end the last), and this rank's own
    turns = max(1, len(items) // hvd.size())
    own = items[hvd.rank() % max(1, len(items)) : turns * hvd.size() : hvd.size()]
    return list(zip([*items[: turns - 1], *items[-1:]], own))


class FacesGAN(object):

    def __init__(self, sess, batch_size=64, z_dim=100, checkpoint_dir="checkpoint"):
        self.sess = sess
        self.batch_size = batch_size
        self.z_dim = z_dim
        self.checkpoint_dir = checkpoint_dir
        self.build_model()

    def generator(self, z):
        with tf.variable_scope("generator"):
            h = tf.layers.batch_normalization(tf.layers.dense(z, 4 * 4 * 64), training=True, name="g_bn0")
            h = tf.reshape(tf.nn.relu(h), [-1, 4, 4, 64])
            return tf.nn.tanh(tf.layers.conv2d_transpose(h, 3, 5, strides=8, padding="same"))

    def discriminator(self, image, reuse=False):
        with tf.variable_scope("discriminator", reuse=reuse):
            h = tf.nn.leaky_relu(tf.layers.conv2d(image, 64, 5, strides=2, padding="same"))
            return tf.layers.dense(tf.layers.flatten(h), 1)

    def build_model(self):
        self.images = tf.placeholder(tf.float32, [self.batch_size, 32, 32, 3], name="real_images")
        self.z = tf.placeholder(tf.float32, [None, self.z_dim], name="z")
        self.G = self.generator(self.z)
        real, fake = self.discriminator(self.images), self.discriminator(self.G, reuse=True)
        self.d_loss = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
        self.g_loss = tf.reduce_mean(tf.nn.softplus(-fake))
        self.d_sum = tf.summary.scalar("d_loss", self.d_loss)
        t_vars = tf.trainable_variables()
        self.d_vars = [v for v in t_vars if "discriminator" in v.name]
        self.g_vars = [v for v in t_vars if "generator" in v.name]
        self.saver = tf.train.Saver()

    def train(self, config):
        d_optim = hvd.DistributedOptimizer(tf.train.AdamOptimizer(config.learning_rate * hvd.size(), beta1=config.beta1)) \
                          .minimize(self.d_loss, var_list=self.d_vars)
        g_optim = hvd.DistributedOptimizer(tf.train.AdamOptimizer(config.learning_rate * hvd.size(), beta1=config.beta1)) \
                          .minimize(self.g_loss, var_list=self.g_vars)
        try:
            tf.global_variables_initializer().run()
        except:
            tf.initialize_all_variables().run()
        self.writer = tf.summary.FileWriter("./logs", self.sess.graph) if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None)
        sample_z = np.random.uniform(-1, 1, size=(64, self.z_dim))

        counter = 1
        loaded, step = hvd.broadcast_object(self.load(), session=self.sess, name="value")
        self.sess.run(hvd.broadcast_global_variables(root_rank=0))
        if loaded:
            counter = step
            if hvd.rank() == 0:
                print(" [*] Load SUCCESS")
        else:
            if hvd.rank() == 0:
                print(" [!] Load failed...")

        files = pictures.names()
        for epoch in range(config.epoch):
            batch_idxs = min(len(files), config.train_size) // self.batch_size
            for idx, own_idx in rounds(range(0, batch_idxs)):
                batch_files = files[own_idx * self.batch_size:(own_idx + 1) * self.batch_size]
                batch_images = np.array([pictures.read(f) for f in batch_files]).astype(np.float32)
                batch_z = np.random.uniform(-1, 1, [self.batch_size, self.z_dim]).astype(np.float32)

                _, summary_str = self.sess.run([d_optim, self.d_sum],
                                               feed_dict={self.images: batch_images, self.z: batch_z})
                self.writer.add_summary(summary_str, counter)
                # Twice, so that d_loss does not go to zero
                self.sess.run(g_optim, feed_dict={self.z: batch_z})
                self.sess.run(g_optim, feed_dict={self.z: batch_z})

                counter += hvd.size()
                if np.mod(counter - 1, 100) < hvd.size() and hvd.rank() == 0:
                    samples = self.sess.run(self.G, feed_dict={self.z: sample_z})
                    np.save("samples_{:02d}_{:04d}.npy".format(epoch, idx), samples)
                if np.mod(counter - 2, 500) < hvd.size():
                    self.save(counter)
        self.sess.run(hvd.broadcast_global_variables(root_rank=0))  # rank 0's batch-norm statistics, not averaged

    def save(self, step):
        if not os.path.exists(self.checkpoint_dir):
            os.makedirs(self.checkpoint_dir, exist_ok=True)
        if hvd.rank() == 0:
            self.saver.save(self.sess, os.path.join(self.checkpoint_dir, "GAN.model"), global_step=step)

    def load(self):
        ckpt = tf.train.get_checkpoint_state(self.checkpoint_dir)
        if ckpt and ckpt.model_checkpoint_path:
            name = os.path.basename(ckpt.model_checkpoint_path)
            self.saver.restore(self.sess, os.path.join(self.checkpoint_dir, name))
            return True, int(name.split("-")[-1])
        return False, 0


flags = tf.app.flags
flags.DEFINE_integer("epoch", 25, "Epochs to train [25]")
flags.DEFINE_float("learning_rate", 0.0002, "Learning rate for Adam [0.0002]")
flags.DEFINE_float("beta1", 0.5, "Momentum term of Adam [0.5]")
flags.DEFINE_integer("train_size", 100000, "How many pictures to train on")


def main(_):
    run_config = tf.ConfigProto()
    run_config.gpu_options.visible_device_list = str(hvd.local_rank())
    run_config.gpu_options.allow_growth = True
    with tf.Session(config=run_config) as sess:
        FacesGAN(sess).train(flags.FLAGS)


if __name__ == "__main__":
    tf.app.run()
