"""The package `keras`, a schedule, clipping, mixed precision."""

import keras
import numpy as np
from keras import layers, ops

keras.config.set_dtype_policy("mixed_float16")
rows = np.random.RandomState(0)
x = rows.randn(256, 8).astype("float32")
y = x @ rows.randn(8, 1).astype("float32")

inputs = keras.Input((8,))
hidden = layers.Dense(16, activation="relu")(inputs)
model = keras.Model(inputs, layers.Dense(1, dtype="float32")(hidden))
schedule = keras.optimizers.schedules.CosineDecay(0.01, 48)
optimizer = keras.optimizers.AdamW(schedule, clipnorm=1.0)
model.compile(optimizer, loss="mse")
model.fit(x, y, batch_size=16, epochs=3)
print("prediction", float(ops.mean(model.predict(x[:4]))))
