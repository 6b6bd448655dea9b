"""Keras: a classifier of points, with a finding that has a quick fix."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(256, 2)).astype("float32")
y = (x[:, 0] * x[:, 1] > 0).astype("int64")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(16, activation="relu", input_shape=(2,)),
        tf.keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile(
    optimizer=tf.keras.optimizers.Adam(learning_rate=0.01),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x, y, batch_size=32, epochs=2)
print("loss and accuracy", model.evaluate(x, y))
