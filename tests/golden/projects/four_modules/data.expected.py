import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


def shard_dataset(dataset):  # this rank's share of a dataset: every size()-th element, equally many on each rank
    return dataset.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))


def load(batch_size):
    random = np.random.RandomState(0)
    x = random.rand(64, 3).astype("float32")
    y = x.sum(1, keepdims=True)
    return shard_dataset(tf.data.Dataset.from_tensor_slices((x, y))).shuffle(64, seed=1).batch(batch_size)
