import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

from images import load

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard_batches(batches):  # every size()-th of some batches, and equally many on each rank, at least one
    batches = (batch for batch in batches)
    groups = iter(lambda: [batch for _, batch in zip(range(hvd.size()), batches)], [])
    return (g[hvd.rank() % len(g)] for i, g in enumerate(groups) if i == 0 or len(g) == hvd.size())


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1 * hvd.size())
first_batch = True
for x in shard_batches(load(np.ones((64, 4), "float32"))):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first_batch:  # from here on every rank holds rank 0's variables
        hvd.broadcast_variables([*model.variables, *optimizer.variables()], root_rank=0)
        first_batch = False
