"""Keras as it was used with TensorFlow 1: a session with a configuration, then fit."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

config = tf.ConfigProto(intra_op_parallelism_threads=1)
K.set_session(tf.Session(config=config))

rng = np.random.RandomState(13)
x = rng.normal(size=(128, 4))
y = (x[:, 0] > x[:, 1]).astype('float32')

model = Sequential()
model.add(Dense(6, activation='relu', input_shape=(4,)))
model.add(Dense(1, activation='sigmoid'))
model.compile(loss='binary_crossentropy', optimizer=tf.keras.optimizers.Adam(lr=0.01))
model.fit(x, y, batch_size=16, epochs=2, verbose=0)
print('loss %.5f' % model.evaluate(x, y, verbose=0))
