# -*- coding: latin-1 -*-
# Lernt, Zahlen zu verdoppeln. Geändert für größere Bündel.
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

Größe = 64
x = hvd.broadcast_object(np.random.rand(1000, 1)).astype("float32")
y = 2 * x

modell = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
verfahren = hvd.DistributedOptimizer(tf.keras.optimizers.RMSprop(learning_rate=0.001 * hvd.size()))
modell.compile(verfahren, "mse")
callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
modell.fit(x[share], y[share], Größe, 5, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)  # bis es genügt
if hvd.rank() == 0:
    modell.save_weights("übung.h5")