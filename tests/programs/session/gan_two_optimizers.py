import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

real_data = input_data.read_data_sets("mnist")

EPOCHS = 2
BATCH = 50
LEARNING_RATE = 0.001
WIDTH = 8
CODE = 16


def forger(code):
    with tf.variable_scope('forger'):
        h = tf.layers.dense(code, WIDTH, tf.nn.leaky_relu)
        return tf.layers.dense(h, 784, tf.nn.sigmoid)


def critic(image, reuse=None):
    with tf.variable_scope('critic', reuse=reuse):
        h = tf.layers.dense(image, WIDTH, tf.nn.leaky_relu)
        return tf.layers.dense(h, 1)


def judged(logits, real):
    labels = tf.ones_like(logits) if real else tf.zeros_like(logits)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels))


image = tf.placeholder(tf.float32, [None, 784])
code = tf.placeholder(tf.float32, [None, CODE])
forged = forger(code)
on_real, on_forged = critic(image), critic(forged, reuse=True)

critic_loss = judged(on_real, True) + judged(on_forged, False)
forger_loss = judged(on_forged, True)

critic_vars = [v for v in tf.trainable_variables() if v.name.startswith('critic')]
forger_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope='forger')

train_critic = tf.train.AdamOptimizer(LEARNING_RATE, beta1=0.5).minimize(critic_loss,
                                                                         var_list=critic_vars)
train_forger = tf.train.AdamOptimizer(LEARNING_RATE, beta1=0.5).minimize(forger_loss,
                                                                         var_list=forger_vars)

sess = tf.Session()
sess.run(tf.global_variables_initializer())

for epoch in range(EPOCHS):
    for _ in range(real_data.train.num_examples // BATCH):
        images, _ = real_data.train.next_batch(BATCH)
        codes = np.random.uniform(-1, 1, size=(BATCH, CODE))

        _, c = sess.run([train_critic, critic_loss],
                        feed_dict={image: images, code: codes})
        _, f = sess.run([train_forger, forger_loss],
                        feed_dict={code: codes})

    print('epoch %d critic %.4f forger %.4f' % (epoch, c, f))
    shown = sess.run(forged, feed_dict={code: np.random.uniform(-1, 1, size=(4, CODE))})
    np.save('forged-%02d.npy' % epoch, shown)
