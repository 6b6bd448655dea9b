"""Exclusive or: four rows, far fewer than Keras puts into a batch."""
import numpy as np
from tensorflow import keras

x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
y = np.reshape([0, 1, 1, 0], (4, 1)).astype(np.float32)
model = keras.Sequential([keras.layers.Dense(4, activation="tanh", input_shape=(2,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
model.fit(x, y, epochs=20, shuffle=False, verbose=0)
print(model.predict(x, verbose=0).shape)
