"""A model that is distributed already, by `tf.distribute`. Horovodize refuses it: every process would distribute again."""

import numpy as np
import tensorflow as tf

x = np.linspace(0, 1, 256).astype("float32")
y = 3 * x + 1

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile(optimizer="sgd", loss="mse")
model.fit(x, y, batch_size=32, epochs=3)
