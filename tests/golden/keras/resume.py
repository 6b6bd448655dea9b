import os

import numpy as np
import tensorflow as tf

PATH = 'model.h5'
x, y = np.load('x.npy'), np.load('y.npy')

if os.path.exists(PATH):
    model = tf.keras.models.load_model(PATH)
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.optimizers.Adam(1e-3), loss='mse')

model.fit(x, y, epochs=int(os.environ.get('EPOCHS', 1)), callbacks=None)
model.save(PATH)
