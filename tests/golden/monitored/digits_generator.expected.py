"""Digits, fed from a generator until a hook says stop."""
import argparse
import os

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))

tf.logging.set_verbosity(tf.logging.INFO)

parser = argparse.ArgumentParser()
parser.add_argument("--logs", default="logs")
parser.add_argument("--steps", type=int, default=5000)
args = parser.parse_args()


def batches(x, y, size=64):
    while True:
        rows = np.random.permutation(len(x))[:size]
        yield x[rows], y[rows]


def network(image):
    hidden = tf.layers.dense(image, 64, tf.nn.relu)
    return tf.layers.dense(hidden, 10)


def main(_):
    if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
        tf.keras.datasets.mnist.load_data()
    with tf.Graph().as_default(), tf.Session(config=config) as waiting:
        waiting.run(hvd.allreduce(tf.random_uniform([]), name="downloaded"))
    (x_train, y_train), _ = tf.keras.datasets.mnist.load_data()
    x_train = x_train.reshape(-1, 784) / 255.0

    image = tf.placeholder(tf.float32, [None, 784])
    label = tf.placeholder(tf.int64, [None])
    loss = tf.losses.sparse_softmax_cross_entropy(label, network(image))

    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.001 * hvd.size(), global_step, 1000 / hvd.size(), 0.9)
    train_op = hvd.DistributedOptimizer(tf.train.AdamOptimizer(rate)).minimize(loss, global_step=global_step)
    summaries = tf.summary.scalar("loss", loss)

    hooks = [
        tf.train.NanTensorHook(loss),
        tf.train.StopAtStepHook(last_step=max(1, args.steps // hvd.size())),  # of all runs
        *([tf.train.LoggingTensorHook({"step": global_step, "loss": loss},
                                   every_n_iter=max(1, 100 // hvd.size()))] if hvd.rank() == 0 else []),
    ]
    if hvd.rank() == 0:
        hooks.append(tf.train.SummarySaverHook(
            save_steps=max(1, 10 // hvd.size()),
            output_dir=os.path.join(args.logs, "train"),
            summary_op=summaries))

    generator = batches(x_train, y_train)
    with tf.train.MonitoredTrainingSession(
            checkpoint_dir=args.logs if hvd.rank() == 0 else None,
            hooks=[hvd.BroadcastGlobalVariablesHook(0), *hooks],
            chief_only_hooks=[tf.train.StepCounterHook(output_dir=args.logs)] if hvd.rank() == 0 else None,
            save_checkpoint_secs=60,
            config=config) as session:
        while not session.should_stop():
            images, labels = next(generator)
            session.run(train_op, feed_dict={image: images, label: labels})

    if hvd.rank() == 0:
        print("trained for", args.steps, "steps")


if __name__ == "__main__":
    tf.app.run()
