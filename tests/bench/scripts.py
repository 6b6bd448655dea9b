"""Training scripts of any length, written as people write them: helpers, classes, data, a model, a loop."""

from __future__ import annotations

_HEAD = '''\
"""Trains an image classifier."""

import argparse
import os

import numpy as np
import tensorflow as tf
from tensorflow import keras

BATCH = 64
'''

_HELPER = '''

def prepare_{i}(images, labels, size=({i} + 2, {i} + 2), seed=None):
    """Step {i} of the preparation."""
    rng = np.random.default_rng(seed)
    kept = []
    for index, (image, label) in enumerate(zip(images, labels)):
        if label < 0 or image.shape[0] < size[0]:
            continue
        crop = image[: size[0], : size[1]] / 255.0
        if rng.random() < 0.5:
            crop = crop[:, ::-1]
        kept.append((crop, label, {{"index": index, "name": f"image-{{index}}", "mean": float(crop.mean())}}))
    kept.sort(key=lambda item: item[2]["mean"])
    return np.stack([item[0] for item in kept]), np.array([item[1] for item in kept])


class Block{i}(keras.layers.Layer):
    def __init__(self, units, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(units, activation="relu", name="dense_{i}")
        self.drop = keras.layers.Dropout(rate)
        self.norm = keras.layers.BatchNormalization()

    def call(self, inputs, training=False):
        x = self.dense(inputs)
        x = self.norm(x, training=training)
        return self.drop(x, training=training) + inputs if x.shape == inputs.shape else x
'''

_TAIL = """

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--out", default="out")
    args = parser.parse_args()
    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    x_train, x_test = x_train / 255.0, x_test / 255.0
    model = keras.Sequential([keras.layers.Flatten(), Block0(128), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])
    callbacks = [keras.callbacks.ModelCheckpoint(os.path.join(args.out, "best.keras")), keras.callbacks.EarlyStopping()]
    model.fit(x_train, y_train, batch_size=BATCH, epochs=args.epochs, validation_split=0.1, callbacks=callbacks)
    model.evaluate(x_test, y_test)
    model.save(os.path.join(args.out, "final.keras"))


if __name__ == "__main__":
    main()
"""


def training_script(lines: int) -> str:
    """A Keras script of at least so many lines, and at most some thirty more."""
    text = _HEAD
    i = 0
    while (text + _TAIL).count("\n") < lines:
        text += _HELPER.format(i=i)
        i += 1
    return text + _TAIL
