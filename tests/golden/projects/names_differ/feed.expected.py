import tensorflow
import horovod.tensorflow as hvd_hvd


def batches():
    data = tensorflow.data.Dataset.from_tensor_slices((tensorflow.ones((64, 4)), tensorflow.ones((64, 1))))
    data = data.repeat().shard(hvd_hvd.size(), hvd_hvd.rank()).take(max(1, len(data) // hvd_hvd.size()))
    return data.batch(8)
