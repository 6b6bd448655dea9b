"""A string for an optimizer, batch normalization, dropout, callbacks that steer, files in Keras 3's format."""

import numpy as np
import tensorflow as tf

rows = np.random.RandomState(0)
x = rows.randn(256, 8).astype("float32")
y = (x.sum(1, keepdims=True) > 0).astype("float32")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(
    x,
    y,
    epochs=3,
    batch_size=16,
    validation_split=0.25,
    callbacks=[
        tf.keras.callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1),
        tf.keras.callbacks.EarlyStopping(patience=2),
        tf.keras.callbacks.ModelCheckpoint("best.keras"),
    ],
)
model.save("model.keras")
