from __future__ import print_function

# %% [markdown]
# Old format

# %%
# from __future__ import print_function
import numpy as np
from tensorflow import keras
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')


def share_rows(rows):  # this rank's part of the rows that every step sees; all where ranks can't get equally many
    count = int(rows.shape[0]) if hasattr(rows, 'shape') else len(rows)
    return rows if count % hvd.size() else rows[hvd.rank() :: hvd.size()]

# %%
x = np.arange(64.0).reshape(32, 2) / 64
y = x.sum(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.01)), 'mse')

# %%
history = model.fit(share_rows(x), share_rows(y), epochs=2, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()], verbose=1 if hvd.rank() == 0 else 0)
