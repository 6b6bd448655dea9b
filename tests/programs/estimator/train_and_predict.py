"""Trains from arrays in memory, then predicts."""
import numpy as np
import tensorflow as tf

BATCH = 12
RATE = 0.05
STEPS = 24

x = np.random.RandomState(7).uniform(-1, 1, size=(96, 2)).astype(np.float32)
y = (x[:, :1] * x[:, 1:]).astype(np.float32)


def regression(features, labels, mode):
    hidden = tf.layers.dense(features['x'], 8, activation=tf.nn.relu)
    guess = tf.layers.dense(hidden, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=guess)
    loss = tf.reduce_mean(tf.square(guess - labels))
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


inputs = tf.estimator.inputs.numpy_input_fn({'x': x}, y, batch_size=BATCH, num_epochs=None, shuffle=False)
model = tf.estimator.Estimator(regression)
model.train(inputs, steps=STEPS)

ask = tf.estimator.inputs.numpy_input_fn({'x': x[:3]}, num_epochs=1, shuffle=False)
for guess in model.predict(ask):
    print('%.3f' % guess[0])
