import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard_dataset(dataset):  # this rank's share of a dataset: every size()-th element, equally many on each rank
    return dataset.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


losses = []
first_batch = True
for x in shard_dataset(tf.data.Dataset.range(8)).batch(2):
    losses.append(step(x))
    if first_batch:  # from here on every rank holds rank 0's variables
        hvd.broadcast_variables([*model.variables, *optimizer.variables()], root_rank=0)
        first_batch = False
