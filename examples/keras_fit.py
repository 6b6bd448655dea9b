"""Keras, compile and fit: a small classifier on points of three spirals. Needs no download."""

import numpy as np
import tensorflow as tf

EPOCHS = 10
BATCH = 32


def spirals(per_arm=200, arms=3):
    """Points in the plane, and the arm each belongs to."""
    rng = np.random.default_rng(0)
    radius = np.tile(np.linspace(0.1, 1.0, per_arm), arms)
    label = np.repeat(np.arange(arms), per_arm)
    angle = 4 * radius + label * 2 * np.pi / arms + rng.normal(scale=0.15, size=radius.size)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    order = rng.permutation(radius.size)
    return points[order].astype("float32"), label[order]


def build_model():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(3, activation="softmax"),
        ]
    )


def main():
    x, y = spirals()
    model = build_model()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(learning_rate=0.003),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(
        x,
        y,
        batch_size=BATCH,
        epochs=EPOCHS,
        callbacks=[
            tf.keras.callbacks.EarlyStopping(monitor="loss", patience=3),
            tf.keras.callbacks.CSVLogger("training.csv"),
        ],
    )
    model.save_weights("spirals.weights.h5")
    print("saved spirals.weights.h5")


if __name__ == "__main__":
    main()
