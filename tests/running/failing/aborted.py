import os

import numpy as np
import tensorflow as tf

RANK = os.environ.get("HOROVOD_RANK", "0")

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
x = np.ones((64, 4), "float32")
y = np.ones((64, 1), "float32")

if RANK == "1":
    os.abort()
model.fit(x, y, batch_size=8, verbose=0)
