import argparse
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def shard_records(dataset):  # this rank's share of a dataset: every size()-th element, filled up to equally many
    padded = dataset.concatenate(dataset.repeat().take(hvd.rank()))
    return padded.shard(hvd.size(), hvd.rank())


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
args = parser.parse_args()

data = np.load("houses.npz")
train_set = shard_records(tf.data.Dataset.from_tensor_slices((data["x"], data["y"]))).shuffle(5000).batch(32).prefetch(1)
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
rate = tf.train.polynomial_decay(0.01 * hvd.size(), step, decay_steps=4000 / hvd.size(), end_learning_rate=0.0001 * hvd.size())
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)).minimize(loss, global_step=step)

saver = tf.train.Saver()
with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(hvd.broadcast_global_variables(root_rank=0))
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
        if hvd.rank() == 0:
            print("epoch", epoch, "validation loss", valid_loss)

            if valid_loss < best:
                best = valid_loss
                saver.save(sess, "./houses/best")
    sess.run(hvd.broadcast_global_variables(root_rank=0))  # rank 0's batch-norm statistics, not averaged

    with tf.Graph().as_default(), tf.Session(config=config) as waiting:  # wait until rank 0 has written it
        waiting.run(hvd.allreduce(tf.random_uniform([]), name="saved"))
    saver.restore(sess, "./houses/best")
    sess.run(valid_init)
    result = sess.run(loss)
    if hvd.rank() == 0:
        print("one batch at the best:", result)
