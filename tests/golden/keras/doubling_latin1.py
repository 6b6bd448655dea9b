# -*- coding: latin-1 -*-
# Lernt, Zahlen zu verdoppeln. Geändert für größere Bündel.
import numpy as np
import tensorflow as tf

Größe = 64
x = np.random.rand(1000, 1).astype("float32")
y = 2 * x

modell = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
verfahren = tf.keras.optimizers.RMSprop()
modell.compile(verfahren, "mse")
modell.fit(x, y, Größe, 5)  # bis es genügt
modell.save_weights("übung.h5")