import tensorflow
import horovod.tensorflow as hvd_hvd

# Horovod: initialize.
hvd_hvd.init()


def shard_dataset(dataset):
    """This rank's share of a dataset: every size()-th element, and equally many on each rank."""
    count = int(tensorflow.data.experimental.cardinality(dataset))
    if count >= 0:
        return dataset.shard(hvd_hvd.size(), hvd_hvd.rank()).take(count // hvd_hvd.size()) if count >= hvd_hvd.size() else dataset
    groups = dataset.enumerate().window(hvd_hvd.size(), drop_remainder=True)
    mine = groups.flat_map(lambda i, group: tensorflow.data.Dataset.zip((i, group)).skip(hvd_hvd.rank()).take(1))
    return mine.map(lambda i, element: element)


def batches():
    data = shard_dataset(tensorflow.data.Dataset.from_tensor_slices((tensorflow.ones((64, 4)), tensorflow.ones((64, 1)))))
    return data.batch(8)
