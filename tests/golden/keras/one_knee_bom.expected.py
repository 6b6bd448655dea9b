"""Two quick models, written on one knee."""
import numpy as np, tensorflow as tf
import horovod.tensorflow.keras as hvd
import os; pass

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
  tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
  tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')

x = np.linspace(0, 1, 256).reshape(-1, 1); y = np.sin(6 * x)
for units in (8, 16):
  m = tf.keras.Sequential([tf.keras.layers.Dense(units, 'tanh'), tf.keras.layers.Dense(1)])
  m.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(learning_rate=0.01 * hvd.size())), 'mse')
  if hvd.rank() == 0:
    if units > 8: print('the larger one')
    else: print('the smaller one')
  callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
  share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
  m.fit(x[share], y[share], epochs=3, verbose=0, callbacks=callbacks)
  evaluation = m.evaluate(x, y, verbose=0)
  if hvd.rank() == 0:
    print('größe', units, 'loss', evaluation)
