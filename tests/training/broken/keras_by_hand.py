"""A Keras script with callbacks of each kind, for the probe to look at."""

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from horovod.tensorflow import broadcast_variables

hvd.init()

BATCH = 16

rng = np.random.RandomState(0)
x = rng.normal(size=(256, 4)).astype("float32")
y = (x[:, :1] * x[:, 1:2]).astype("float32")
x_val, y_val = x[:64], y[:64]

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(8, activation="relu", input_shape=(4,)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.05 * hvd.size()))
model.compile(optimizer=optimizer, loss="mse")


def rate(epoch):
    return (0.05 if epoch < 1 else 0.02) * hvd.size()


callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    tf.keras.callbacks.LearningRateScheduler(rate),
    tf.keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=100, patience=2),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.CSVLogger("losses.csv"))
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).shuffle(256).batch(BATCH)
history = model.fit(dataset, validation_data=(x_val, y_val), epochs=5, verbose=0, callbacks=callbacks)
broadcast_variables(model.variables, root_rank=0)
if hvd.rank() == 0:
    print(len(history.history["loss"]), "epochs")
    model.save_weights("weights.h5")
