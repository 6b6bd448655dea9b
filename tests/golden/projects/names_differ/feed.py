import tensorflow


def batches():
    data = tensorflow.data.Dataset.from_tensor_slices((tensorflow.ones((64, 4)), tensorflow.ones((64, 1))))
    return data.batch(8)
