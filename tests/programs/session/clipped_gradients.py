import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_float("lr", 0.002, "learning rate")
flags.DEFINE_integer("epochs", 2, "passes over the data")
flags.DEFINE_integer("batch_size", 16, "rows in a batch")
FLAGS = flags.FLAGS


def make_data():
    rng = np.random.RandomState(3)
    x = rng.normal(size=(160, 5)).astype(np.float32)
    y = (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)
    return x, y


def main(_):
    x_train, y_train = make_data()

    x = tf.placeholder(tf.float32, [None, 5], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    hidden = tf.layers.dense(x, 8, activation=tf.nn.tanh)
    logits = tf.layers.dense(hidden, 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))

    global_step = tf.Variable(0, name="global_step", trainable=False)
    optimizer = tf.train.RMSPropOptimizer(FLAGS.lr)
    grads_and_vars = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_value(grad, -1., 1.), var) for grad, var in grads_and_vars if grad is not None]
    train_op = optimizer.apply_gradients(clipped, global_step=global_step)

    config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    config.gpu_options.allow_growth = True
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        n_batches = len(x_train) // FLAGS.batch_size
        for epoch in range(FLAGS.epochs):
            for i in range(n_batches):
                begin = i * FLAGS.batch_size
                _, loss_value, step = sess.run(
                    [train_op, loss, global_step],
                    feed_dict={x: x_train[begin:begin + FLAGS.batch_size],
                               y: y_train[begin:begin + FLAGS.batch_size]})
            print("epoch {} step {} loss {:.5f}".format(epoch, step, loss_value))


if __name__ == "__main__":
    tf.app.run()
