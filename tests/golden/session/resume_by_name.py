from __future__ import division

import os
import re

import tensorflow.compat.v1 as tf

import streets

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.INFO)

LOG = "runs/streets"
STEPS = 20000

with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
    image, label = streets.placeholders()
    logits = streets.network(image)
    loss = tf.losses.sparse_softmax_cross_entropy(label, logits) + tf.losses.get_regularization_loss()

    global_step = tf.train.create_global_step()
    rate = tf.train.piecewise_constant(global_step, [10000, 15000], [0.1, 0.01, 0.001])
    optimizer = tf.train.MomentumOptimizer(learning_rate=rate, momentum=0.9)
    gradients = [(tf.clip_by_norm(g, 5.0), v) for g, v in optimizer.compute_gradients(loss)]
    train_op = tf.group(optimizer.apply_gradients(gradients, global_step=global_step),
                        *tf.get_collection(tf.GraphKeys.UPDATE_OPS))

    tf.summary.scalar("loss", loss)
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(LOG, graph)
    saver = tf.train.Saver(max_to_keep=3)

    checkpoint = tf.train.latest_checkpoint(LOG)
    if checkpoint is not None:
        saver.restore(sess, checkpoint)
        start = int(re.search(r"-(\d+)$", checkpoint).group(1))
    else:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        start = 0

    try:
        for step in range(start, STEPS):
            images, labels = streets.next_batch(16)
            summary, value, _ = sess.run([merged, loss, train_op], {image: images, label: labels})
            writer.add_summary(summary, step)
            if step % 1000 == 0:
                saver.save(sess, os.path.join(LOG, "model.ckpt"), global_step=step)
                tf.logging.info("step %d of %d: %.4f", step, STEPS, value)
    except KeyboardInterrupt:
        print("interrupted")
    saver.save(sess, os.path.join(LOG, "final.ckpt"))
    writer.close()
