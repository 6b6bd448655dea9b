import json

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.optimizers import SGD

BATCH_SIZE = 16
EPOCHS = 5

# a noisy linear map from 6 numbers to 2
generator = np.random.default_rng(3)
features = generator.normal(size=(384, 6)).astype('float32')
targets = features @ generator.normal(size=(6, 2)).astype('float32') + 0.5
targets += generator.normal(scale=0.05, size=targets.shape).astype('float32')

dataset = tf.data.Dataset.from_tensor_slices((features, targets))
dataset = dataset.batch(BATCH_SIZE).prefetch(2)

inputs = layers.Input(shape=(6,))
hidden = layers.Dense(10, activation='tanh')(inputs)
outputs = layers.Dense(2)(hidden)
model = tf.keras.Model(inputs, outputs)

model.compile(loss='mse', optimizer=SGD(learning_rate=0.02))

history = model.fit(dataset, epochs=EPOCHS, verbose=2)

with open('history.json', 'w') as f:
    json.dump([float(v) for v in history.history['loss']], f)

print('first loss', history.history['loss'][0])
print('last loss', history.history['loss'][-1])
