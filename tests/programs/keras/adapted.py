import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

# readings of two instruments that take turns: what one notes and measures, the other never does
numbers = np.random.default_rng(5)
notes = np.array([' '.join(numbers.choice(['low mist rain', 'high sun dry wind'][i % 2].split(), 4)) for i in range(192)])
depths = (numbers.normal(size=(192, 1)) + 40 * (np.arange(192)[:, None] % 2)).astype('float32')
levels = np.array([[note.count('low') - note.count('sun')] for note in notes], 'float32') + depths / 40

readings = tf.data.Dataset.from_tensor_slices(((notes, depths), levels)).batch(16)

words = layers.TextVectorization(output_mode='multi_hot', max_tokens=12, pad_to_max_tokens=True)
words.adapt(readings.map(lambda x, y: x[0]))
scale = layers.Normalization()
scale.adapt(readings.map(lambda x, y: x[1]))
print(words.get_vocabulary())

train = readings.map(lambda x, y: (tf.concat([words(x[0]), scale(x[1])], 1), y))

model = tf.keras.Sequential([layers.Dense(6, activation='tanh'), layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.05), 'mse')
model.fit(train, epochs=4, verbose=2)
