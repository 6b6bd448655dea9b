import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf

rows = np.random.RandomState(4)
x = rows.normal(size=(256, 6)).astype("float32")
y = (x @ rows.normal(size=(6, 1))).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(6,))])
model.compile("adam", "mse")
losses = []
for epoch in range(2):
    for i in range(0, 256, 16):
        losses.append(model.train_on_batch(x[i : i + 16], y[i : i + 16]))
