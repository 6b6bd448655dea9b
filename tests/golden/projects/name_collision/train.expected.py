import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

import large
import small

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

model = large.Net().build()
small.train(model, np.ones((64, 4), "float32"), np.ones((64, 1), "float32"))
