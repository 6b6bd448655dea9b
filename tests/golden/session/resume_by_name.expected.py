from __future__ import division

import os
import re

import tensorflow.compat.v1 as tf
import types
import horovod.tensorflow as hvd

import streets

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def from_root(value):  # rank 0's value, on every rank
    unfolded = tf.ConfigProto()
    unfolded.CopyFrom(config)
    unfolded.graph_options.rewrite_options.constant_folding = 2
    with tf.Graph().as_default(), tf.Session(config=unfolded):
        return hvd.broadcast_object(value, root_rank=0, name="value")


tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.INFO)

LOG = "runs/streets"
STEPS = 20000

with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=config) as sess:
    image, label = streets.placeholders()
    logits = streets.network(image)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits) + tf.losses.get_regularization_loss()

    global_step = tf.train.create_global_step()
    rate = tf.train.piecewise_constant(global_step, [10000 // hvd.size(), 15000 // hvd.size()], [0.1 * hvd.size(), 0.01 * hvd.size(), 0.001 * hvd.size()])
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(learning_rate=rate, momentum=0.9))
    gradients = [(tf.clip_by_norm(g, 5.0), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = tf.group(optimizer.apply_gradients(gradients, global_step=global_step),
                        *tf.get_collection(tf.GraphKeys.UPDATE_OPS))

    tf.summary.scalar("loss", loss)
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(LOG, graph) if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None, close=lambda *args: None)
    saver = tf.train.Saver(max_to_keep=3)

    checkpoint = tf.train.latest_checkpoint(LOG)
    if checkpoint is not None:
        saver.restore(sess, checkpoint)
        start = int(re.search(r"-(\d+)$", checkpoint).group(1))
    else:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        start = 0
    sess.run(hvd.broadcast_global_variables(root_rank=0))

    try:
        start = from_root(start)
        for step in range(start, STEPS, hvd.size()):
            images, labels = [streets.next_batch(16) for _ in range(hvd.size())][hvd.rank()]
            summary, value, _ = sess.run([merged, loss, train_op], {image: images, label: labels})
            writer.add_summary(summary, step)
            if step % 1000 < hvd.size():
                if hvd.rank() == 0:
                    saver.save(sess, os.path.join(LOG, "model.ckpt"), global_step=step)
                tf.logging.info("step %d of %d: %.4f", step, STEPS, value)
        sess.run(hvd.broadcast_global_variables(root_rank=0))  # rank 0's batch-norm statistics, not averaged
    except KeyboardInterrupt:
        if hvd.rank() == 0:
            print("interrupted")
    if hvd.rank() == 0:
        saver.save(sess, os.path.join(LOG, "final.ckpt"))
    writer.close()
