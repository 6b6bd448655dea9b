#! /usr/bin/env python
import os
import time
import datetime

import numpy as np
import tensorflow as tf
import sys
import types
import horovod.tensorflow as hvd

import reviews
from text_cnn import TextCNN

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))
sys.stdout = sys.stdout if hvd.rank() == 0 else open(os.devnull, "w", errors="replace")


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


def from_root(value):  # rank 0's value, on every rank
    unfolded = tf.ConfigProto()
    unfolded.CopyFrom(config)
    unfolded.graph_options.rewrite_options.constant_folding = 2
    with tf.Graph().as_default(), tf.Session(config=unfolded):
        return hvd.broadcast_object(value, root_rank=0, name="value")


tf.flags.DEFINE_integer("batch_size", 64, "Batch size (default: 64)")
tf.flags.DEFINE_integer("num_epochs", 200, "Number of epochs (default: 200)")
tf.flags.DEFINE_integer("evaluate_every", 100, "Evaluate after this many steps")
tf.flags.DEFINE_integer("checkpoint_every", 100, "Save the model after this many steps")
tf.flags.DEFINE_boolean("allow_soft_placement", True, "Allow soft device placement")
FLAGS = tf.flags.FLAGS


def batch_iter(data, batch_size, num_epochs, shuffle=True):
    data = np.array(data)
    per_epoch = int((len(data) - 1) / batch_size) + 1
    for epoch in range(num_epochs):
        shuffled = data[from_root(np.random.permutation(np.arange(len(data))))] if shuffle else data
        for batch_num in shard(range(per_epoch)):
            yield shuffled[batch_num * batch_size:min((batch_num + 1) * batch_size, len(data))]


def train(x_train, y_train, x_dev, y_dev):
    with tf.Graph().as_default():
        session_conf = tf.ConfigProto(allow_soft_placement=FLAGS.allow_soft_placement)
        session_conf.gpu_options.visible_device_list = str(hvd.local_rank())
        sess = tf.Session(config=session_conf)
        with sess.as_default():
            cnn = TextCNN(sequence_length=x_train.shape[1])

            global_step = tf.Variable(0, name="global_step", trainable=False)
            optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(1e-3 * hvd.size()))
            grads_and_vars = optimizer.compute_gradients(cnn.loss)
            train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)

            out_dir = os.path.abspath(os.path.join(os.path.curdir, "runs", str(int(time.time()))))
            print("Writing to {}\n".format(out_dir))
            loss_summary = tf.summary.scalar("loss", cnn.loss)
            train_writer = tf.summary.FileWriter(os.path.join(out_dir, "train"), sess.graph) if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None)

            checkpoint_dir = os.path.abspath(os.path.join(out_dir, "checkpoints"))
            if not os.path.exists(checkpoint_dir) and hvd.rank() == 0:
                os.makedirs(checkpoint_dir)
            saver = tf.train.Saver(tf.global_variables(), max_to_keep=5)

            sess.run(tf.global_variables_initializer())
            sess.run(hvd.broadcast_global_variables(root_rank=0))

            def train_step(x_batch, y_batch):
                feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.keep: 0.5}
                _, step, summaries, loss = sess.run(
                    [train_op, global_step, loss_summary, cnn.loss], feed_dict)
                print("{}: step {}, loss {:g}".format(datetime.datetime.now().isoformat(), step, loss))
                train_writer.add_summary(summaries, step)

            def dev_step(x_batch, y_batch):
                """Evaluates on the held out reviews"""
                loss = sess.run(cnn.loss, {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.keep: 1.0})
                print("dev loss {:g}".format(loss))

            for batch in batch_iter(list(zip(x_train, y_train)), FLAGS.batch_size, FLAGS.num_epochs):
                x_batch, y_batch = zip(*batch)
                train_step(x_batch, y_batch)
                current_step = tf.train.global_step(sess, global_step)
                if current_step % max(1, FLAGS.evaluate_every // hvd.size()) == 0:
                    dev_step(x_dev, y_dev)
                if current_step % max(1, FLAGS.checkpoint_every // hvd.size()) == 0 and hvd.rank() == 0:
                    path = saver.save(sess, os.path.join(checkpoint_dir, "model"), global_step=current_step)
                    print("Saved model checkpoint to {}\n".format(path))


def main(argv=None):
    train(*reviews.load())


if __name__ == "__main__":
    tf.app.run()
