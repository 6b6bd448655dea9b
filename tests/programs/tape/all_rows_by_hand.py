# Logistic regression whose weights are updated without an optimizer, on all rows in every step
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
features = tf.constant(rng.normal(size=(60, 3)).astype(np.float32))
classes = tf.cast(features[:, :1] + features[:, 1:2] > 0.2, tf.float32)

w = tf.Variable(tf.zeros([3, 1]))
b = tf.Variable(tf.zeros([1]))


def train_step(x, y, rate):
    with tf.GradientTape() as tape:
        logits = x @ w + b
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(rate * dw)
    b.assign_sub(rate * db)
    return loss


for epoch in range(50):
    train_step(features, classes, 0.5)

right = tf.reduce_mean(tf.cast(((features @ w + b) > 0) == (classes > 0.5), tf.float32))
print("right:", float(right))
np.savez("logistic.npz", w=w.numpy(), b=b.numpy())
