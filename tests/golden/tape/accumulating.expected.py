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


CHUNKS = 4
model = tf.keras.applications.ResNet50(weights=None, classes=10)
optimizer = tf.keras.optimizers.experimental.SGD(0.1 * hvd.size(), momentum=0.9) if hasattr(tf.keras.optimizers, "experimental") \
    else tf.keras.optimizers.SGD(0.1 * hvd.size(), momentum=0.9)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy()


@tf.function(experimental_relax_shapes=True)
def gradients(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True)) / CHUNKS
    tape = hvd.DistributedGradientTape(tape)
    return tape.gradient(loss, model.trainable_weights), loss


def large_step(chunks):
    total, summed = 0.0, None
    for x, y in chunks:
        found, loss = gradients(x, y)
        summed = found if summed is None else [a + b for a, b in zip(summed, found)]
        total += loss
    optimizer.apply_gradients(zip(summed, model.trainable_weights))
    return total


images = tf.data.Dataset.from_tensors((tf.zeros([8, 224, 224, 3]), tf.zeros([8], tf.int32))).repeat(64)
first_batch = True
for large in shard_dataset(images.window(CHUNKS, drop_remainder=True)):
    result = large_step(tf.data.Dataset.zip(large))
    if hvd.rank() == 0:
        print(result)
    if first_batch:  # from here on every rank holds rank 0's variables
        hvd.broadcast_variables([*model.variables, *optimizer.variables()], root_rank=0)
        first_batch = False
hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)  # rank 0's batch-norm statistics, not averaged
