import tensorflow as tf
import horovod.tensorflow as hvd

from nets import Net, Trainer

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard_dataset(dataset):  # this rank's share of a dataset: every size()-th element, equally many on each rank
    return dataset.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))


def main():
    x, y = hvd.broadcast_object(tf.random.normal((64, 4))), hvd.broadcast_object(tf.random.normal((64, 1)))
    dataset = shard_dataset(tf.data.Dataset.from_tensor_slices((x, y))).batch(8)
    Trainer(Net(16)).fit(dataset, epochs=3)


if __name__ == "__main__":
    main()
