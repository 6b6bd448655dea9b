import tensorflow as tf
import types
import horovod.tensorflow.keras as hvd

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def shard(rows):  # this rank's share of some rows: every size()-th, equally many on each rank, at least one
    return rows[hvd.rank() % max(1, len(rows)) : max(1, len(rows) // hvd.size()) * hvd.size() : hvd.size()]


# TensorFlow 1's writer, in a program of TensorFlow 2
writer = tf.compat.v1.summary.FileWriter("logs") if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None, close=lambda *args: None)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size())), loss="mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
history = model.fit(shard(tf.ones((64, 4))), shard(tf.ones((64, 1))), batch_size=8, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
for epoch, loss in enumerate(history.history["loss"]):
    value = tf.compat.v1.Summary.Value(tag="loss", simple_value=loss)
    writer.add_summary(tf.compat.v1.Summary(value=[value]), epoch)
writer.close()
