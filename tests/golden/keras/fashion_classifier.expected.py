#!/usr/bin/env python3
"""Classifies pictures of clothes.

Run it without arguments; it downloads what it needs.
"""
from __future__ import annotations

import os

import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from tensorflow.keras import layers
from tensorflow.keras.callbacks import (
    CSVLogger,
    EarlyStopping,
    ModelCheckpoint,
)

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, "ops"), "Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later"
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")

BATCH_SIZE = 128  # fits into 8 GB

# ------------------------------------------------------------------ data

if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
    tf.keras.datasets.fashion_mnist.load_data()
hvd.broadcast(0, root_rank=0, name="downloaded")
(x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()
x_train, x_test = x_train[..., np.newaxis] / 255.0, x_test[..., np.newaxis] / 255.0

# ------------------------------------------------------------------ model

model = tf.keras.Sequential([
    layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
    layers.Flatten(),
    layers.Dense(10),
])
if hvd.rank() == 0:
    model.summary()

model.compile(
    optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())),  # the default rate is fine
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

share = slice(hvd.rank(), len(x_train) // hvd.size() * hvd.size(), hvd.size())
history = model.fit(
    x_train[share],
    y_train[share],
    # about 20 s an epoch
    batch_size=BATCH_SIZE,
    epochs=20,
    validation_split=0.1,
    callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        EarlyStopping(patience=3),
        # keep the best one
        *([ModelCheckpoint("best.h5", save_best_only=True)] if hvd.rank() == 0 else []),
        *([CSVLogger("log.csv")] if hvd.rank() == 0 else []),
    ],
    verbose=1 if hvd.rank() == 0 else 0,
)

loss, accuracy = model.evaluate(x_test, y_test, verbose=2 if hvd.rank() == 0 else 0)
if hvd.rank() == 0:
    print("accuracy:", accuracy)
    model.save("fashion.h5")
