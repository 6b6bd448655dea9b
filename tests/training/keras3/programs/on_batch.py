"""`train_on_batch`."""

import numpy as np
from tensorflow import keras

rows = np.random.RandomState(0)
x = rows.randn(256, 8).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9), loss="mse")
for epoch in range(2):
    for i in range(0, len(x), 16):
        loss = model.train_on_batch(x[i : i + 16], y[i : i + 16])
    print(epoch, loss)
