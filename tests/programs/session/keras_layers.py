"""Keras' layers in a session of our own."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense, Dropout

config = tf.ConfigProto()
config.gpu_options.allow_growth = True
sess = tf.Session(config=config)
K.set_session(sess)

sensors = tf.placeholder(tf.float32, shape=(None, 7))
alarms = tf.placeholder(tf.float32, shape=(None, 3))

x = Dense(8, activation='relu')(sensors)
x = Dropout(0.3)(x)
preds = Dense(3, activation='softmax')(x)
loss = tf.reduce_mean(keras.losses.categorical_crossentropy(alarms, preds))
train_step = tf.train.AdamOptimizer(0.01).minimize(loss)

init_op = tf.global_variables_initializer()
sess.run(init_op)

rng = np.random.RandomState(9)
readings = rng.normal(size=(140, 7))
kinds = np.eye(3)[readings[:, :3].argmax(axis=1)]

with sess.as_default():
    for epoch in range(2):
        for start in range(0, 140, 14):
            train_step.run(feed_dict={sensors: readings[start:start + 14],
                                      alarms: kinds[start:start + 14],
                                      K.learning_phase(): 1})
        print('loss', loss.eval(feed_dict={sensors: readings, alarms: kinds, K.learning_phase(): 0}))
