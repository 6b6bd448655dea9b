import lib.nets.dense as d
import tensorflow as tf
import horovod.tensorflow.keras as hvd
import lib.callbacks
import numpy as np

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

net = d.dense_net()
x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
net.fit(x[share], y[share], validation_split=0.25, epochs=3, callbacks=[
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    *(lib.callbacks.callbacks("out") or [])], verbose=1 if hvd.rank() == 0 else 0)
