import sys

import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
from tensorflow.keras import optimizers as opts

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

kind = sys.argv[1] if len(sys.argv) > 1 else "sgd"
warm = opts.schedules.PiecewiseConstantDecay([1000 // hvd.size(), 2000 // hvd.size()], [0.1 * hvd.size(), 0.05 * hvd.size(), 0.01 * hvd.size()])

match kind:
    case "sgd":
        optimizer = hvd.DistributedOptimizer(opts.SGD(warm, momentum=0.9))
    case "adam" | "amsgrad":
        optimizer = hvd.DistributedOptimizer(opts.Adam(learning_rate=0.001 * hvd.size(), amsgrad=kind == "amsgrad"))
    case _:
        optimizer = opts.RMSprop(learning_rate=opts.schedules.CosineDecay(0.01 * hvd.size(), decay_steps=5_000 / hvd.size()))
        optimizer = hvd.DistributedOptimizer(optimizer)

dataset = (
    tf.data.Dataset.from_tensor_slices((hvd.broadcast_object(tf.random.normal([4096, 8])), hvd.broadcast_object(tf.random.normal([4096, 1])))).apply(lambda ds: ds.shard(hvd.size(), hvd.rank()).take(len(ds) // hvd.size()))
    .shuffle(4096, seed=7)
    .batch(64)
    .prefetch(tf.data.AUTOTUNE)
)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer, loss="mse")
callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
model.fit(dataset, epochs=3, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
