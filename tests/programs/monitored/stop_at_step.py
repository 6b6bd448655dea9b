"""Fed from a generator until a hook says stop; checkpoints are kept."""
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.INFO)


def batches(x, y, size):
    while True:
        order = np.random.permutation(len(x))
        for start in range(0, len(x) - size + 1, size):
            rows = order[start:start + size]
            yield x[rows], y[rows]


def main(_):
    rng = np.random.RandomState(0)
    x_train = rng.normal(size=(100, 4)).astype(np.float32)
    y_train = x_train.argmax(axis=1)

    with tf.name_scope('input'):
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.placeholder(tf.int32, [None])
    logits = tf.layers.dense(tf.layers.dense(x, 6, tf.nn.relu), 4)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)

    opt = tf.train.AdamOptimizer(0.01)
    global_step = tf.train.get_or_create_global_step()
    train_op = opt.minimize(loss, global_step=global_step)

    hooks = [
        tf.train.StopAtStepHook(last_step=40),
        tf.train.LoggingTensorHook(tensors={'step': global_step, 'loss': loss}, every_n_iter=10),
    ]

    generator = batches(x_train, y_train, 10)
    with tf.train.MonitoredTrainingSession(checkpoint_dir='./checkpoints', hooks=hooks) as mon_sess:
        while not mon_sess.should_stop():
            image, label = next(generator)
            mon_sess.run(train_op, feed_dict={x: image, y: label})


if __name__ == "__main__":
    tf.app.run()
