import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf

rows = np.random.RandomState(4)
x = rows.normal(size=(256, 6)).astype("float32")
y = (x @ rows.normal(size=(6, 1)) > 0).astype("float32")
layers = [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")]
model = tf.keras.Sequential(layers)
model.compile(tf.keras.optimizers.SGD(0.05, momentum=0.9), "binary_crossentropy", metrics=["accuracy"])
plateau = tf.keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=0.5)
history = model.fit(x, y, batch_size=16, epochs=4, verbose=0, callbacks=[plateau])
losses = history.history["loss"]
