import tensorflow as tf

from optim import make

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(make(), "mse")
model.fit(tf.ones((64, 4)), tf.ones((64, 1)), epochs=2)
