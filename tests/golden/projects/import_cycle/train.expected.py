import tensorflow as tf
import horovod.tensorflow as hvd

import model

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard_dataset(dataset):  # this rank's share of a dataset: every size()-th element, equally many on each rank
    return dataset.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))


dataset = shard_dataset(tf.data.Dataset.from_tensor_slices((tf.ones((64, 4)), tf.ones((64, 1))))).batch(8)
model.Net().learn(dataset)
