import tensorflow as tf

from plain import shout
from report import keep, tell

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
history = model.fit(tf.ones((64, 4)), tf.ones((64, 1)), epochs=2)
keep("losses.txt", history.history["loss"])
tell("finished")
shout("finished")
