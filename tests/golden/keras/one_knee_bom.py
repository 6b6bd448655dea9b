"""Two quick models, written on one knee."""
import numpy as np, tensorflow as tf
import os; os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
x = np.linspace(0, 1, 256).reshape(-1, 1); y = np.sin(6 * x)
for units in (8, 16):
  m = tf.keras.Sequential([tf.keras.layers.Dense(units, 'tanh'), tf.keras.layers.Dense(1)])
  m.compile('sgd', 'mse')
  if units > 8: print('the larger one')
  else: print('the smaller one')
  m.fit(x, y, epochs=3, verbose=0)
  print('größe', units, 'loss', m.evaluate(x, y, verbose=0))
