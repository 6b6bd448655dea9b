import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
schedule = tf.keras.optimizers.schedules.ExponentialDecay(
    initial_learning_rate=0.1 * hvd.size(),
    decay_steps=1000 / hvd.size(),
    decay_rate=0.96,
    staircase=True)
optimizer = tf.keras.optimizers.SGD(learning_rate=schedule)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def epoch(dataset):
    total = 0.0
    for x, y in dataset:
        total += step(x, y)
    return total


data = tf.data.Dataset.from_tensor_slices((hvd.broadcast_object(tf.random.normal([256, 4])), hvd.broadcast_object(tf.random.normal([256, 1])))).apply(lambda ds: ds.shard(hvd.size(), hvd.rank()).take(len(ds) // hvd.size())).batch(16)
hvd.broadcast_variables(model.variables, root_rank=0)
for number in tf.range(5):
    result = epoch(data)
    if hvd.rank() == 0:
        print("epoch", number, result)
