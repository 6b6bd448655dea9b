import numpy as np
import tensorflow as tf

from first import pretrain

x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
pretrain(model, np.zeros((32, 4), "float32"), np.zeros((32, 1), "float32"))
model.compile(tf.keras.optimizers.Adam(), "mse")
model.fit(x, y, epochs=3)
