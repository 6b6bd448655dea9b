import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

from pkg.data import rows
import numpy as np

np.random.seed(1)
import pkg.rates as rates

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


with tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(hvd.broadcast_global_variables(root_rank=0))
    for epoch in range(3):
        for i in shard(range(0, 64, 8)):
            sess.run(rates.train_op, {rates.x: rows[i : i + 8]})
    if hvd.rank() == 0:
        print(sess.run(rates.loss, {rates.x: rows}))
