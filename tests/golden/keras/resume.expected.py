import os

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')


def load_distributed(*arguments, **options):
    """A compiled model from a file; its optimizer goes on in Horovod's wrapper."""
    model = tf.keras.models.load_model(*arguments, **options)
    saved = model.optimizer
    optimizer = hvd.DistributedOptimizer(saved)
    type(optimizer).__module__ = type(saved).__module__
    model.optimizer = optimizer
    build = getattr(optimizer, 'build', None) or optimizer._create_all_weights
    build(model.trainable_variables)
    for own, was in zip(optimizer.variables(), saved.variables()):
        own.assign(was)
    return model


PATH = 'model.h5'
x, y = np.load('x.npy'), np.load('y.npy')

if os.path.exists(PATH):
    model = load_distributed(PATH)
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=hvd.DistributedOptimizer(tf.optimizers.Adam(1e-3 * hvd.size())), loss='mse')

callbacks = [hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0), hvd_keras.callbacks.MetricAverageCallback()]
model.optimizer.learning_rate = hvd.broadcast_object(float(model.optimizer.learning_rate))
share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
model.fit(x[share], y[share], epochs=int(os.environ.get('EPOCHS', 1)), callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)
if hvd.rank() == 0:
    model.save(PATH)
