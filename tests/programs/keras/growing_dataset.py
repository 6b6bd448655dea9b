import numpy as np
import tensorflow as tf

# the set of rows that is trained on grows from round to round
numbers = np.random.default_rng(8)
rows = numbers.normal(size=(96, 3)).astype('float32')
targets = rows @ numbers.normal(size=(3, 1)).astype('float32')

everything = tf.data.Dataset.from_tensor_slices((rows, targets))
labelled = everything.take(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation='tanh'), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.05), 'mse')

for turn in range(3):
    if turn:
        labelled = labelled.concatenate(everything.skip(32 * turn).take(32)).prefetch(1)
    model.fit(labelled.batch(4), epochs=2, verbose=2)
    print('turn', turn, 'rows', int(labelled.cardinality()))
