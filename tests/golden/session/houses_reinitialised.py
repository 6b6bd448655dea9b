import argparse
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
args = parser.parse_args()

data = np.load("houses.npz")
train_set = tf.data.Dataset.from_tensor_slices((data["x"], data["y"])).shuffle(5000).batch(32).prefetch(1)
valid_set = tf.data.Dataset.from_tensor_slices((data["x_valid"], data["y_valid"])).batch(256)

iterator = tf.data.Iterator.from_structure(train_set.output_types, train_set.output_shapes)
features, price = iterator.get_next()
train_init = iterator.make_initializer(train_set)
valid_init = iterator.make_initializer(valid_set)

is_training = tf.placeholder_with_default(False, shape=())
h = tf.layers.dense(features, 64)
h = tf.nn.relu(tf.layers.batch_normalization(h, training=is_training))
loss = tf.losses.mean_squared_error(price, tf.squeeze(tf.layers.dense(h, 1), 1))

step = tf.train.get_or_create_global_step()
rate = tf.train.polynomial_decay(0.01, step, decay_steps=4000, end_learning_rate=0.0001)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True).minimize(loss, global_step=step)

saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    best = float("inf")
    for epoch in range(args.epochs):
        sess.run(train_init)
        while True:
            try:
                sess.run(train_op, feed_dict={is_training: True})
            except tf.errors.OutOfRangeError:
                break

        sess.run(valid_init)
        losses = []
        try:
            while True:
                losses.append(sess.run(loss))
        except tf.errors.OutOfRangeError:
            pass
        valid_loss = np.mean(losses)
        print("epoch", epoch, "validation loss", valid_loss)

        if valid_loss < best:
            best = valid_loss
            saver.save(sess, "./houses/best")

    saver.restore(sess, "./houses/best")
    sess.run(valid_init)
    print("one batch at the best:", sess.run(loss))
