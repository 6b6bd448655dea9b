import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

from first import pretrain

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
pretrain(model, np.zeros((32, 4), "float32"), np.zeros((32, 1), "float32"))
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
model.fit(x[share], y[share], epochs=3, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
