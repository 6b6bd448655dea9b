import tensorflow
import horovod.tensorflow as hvd_hvd

# Horovod: initialize.
hvd_hvd.init()


def shard_dataset(dataset):
    """This rank's share of a dataset: every size()-th element, and equally many on each rank."""
    count = int(tensorflow.data.experimental.cardinality(dataset))
    if 0 <= count < hvd_hvd.size():
        return dataset
    if count >= 0:
        dataset = dataset.take(count // hvd_hvd.size() * hvd_hvd.size())
    elif count == tensorflow.data.experimental.UNKNOWN_CARDINALITY:
        specs = tensorflow.nest.flatten(dataset.element_spec)
        if all(s.shape.is_fully_defined() for s in specs if isinstance(s, tensorflow.TensorSpec)):
            dataset = dataset.batch(hvd_hvd.size(), drop_remainder=True).unbatch()
        else:
            groups = dataset.enumerate().window(hvd_hvd.size(), drop_remainder=True)
            dataset = groups.flat_map(lambda *group: tensorflow.data.Dataset.zip(group)).map(lambda i, element: element)
    return dataset.shard(hvd_hvd.size(), hvd_hvd.rank())


def batches():
    data = shard_dataset(tensorflow.data.Dataset.from_tensor_slices((tensorflow.ones((64, 4)), tensorflow.ones((64, 1)))))
    return data.batch(8)
