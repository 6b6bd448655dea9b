#!/usr/bin/env python3
"""Classifies pictures of clothes.

Run it without arguments; it downloads what it needs.
"""
from __future__ import annotations

import os

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.callbacks import (
    CSVLogger,
    EarlyStopping,
    ModelCheckpoint,
)

BATCH_SIZE = 128  # fits into 8 GB
os.environ["CUDA_VISIBLE_DEVICES"] = "0"

# ------------------------------------------------------------------ data

(x_train, y_train), (x_test, y_test) = tf.keras.datasets.fashion_mnist.load_data()
x_train, x_test = x_train[..., np.newaxis] / 255.0, x_test[..., np.newaxis] / 255.0

# ------------------------------------------------------------------ model

model = tf.keras.Sequential([
    layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
    layers.Flatten(),
    layers.Dense(10),
])
model.summary()

model.compile(
    optimizer="adam",  # the default rate is fine
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

history = model.fit(
    x_train,
    y_train,
    # about 20 s an epoch
    batch_size=BATCH_SIZE,
    epochs=20,
    validation_split=0.1,
    callbacks=[
        EarlyStopping(patience=3),
        # keep the best one
        ModelCheckpoint("best.h5", save_best_only=True),
        CSVLogger("log.csv"),
    ],
)

loss, accuracy = model.evaluate(x_test, y_test, verbose=2)
print("accuracy:", accuracy)
model.save("fashion.h5")
