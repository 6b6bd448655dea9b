"""Evaluates after each checkpoint, and ends when the error is small enough."""
import numpy as np
import tensorflow as tf

BATCH = 12
RATE = 0.05
STEPS = 160

x = np.random.RandomState(7).uniform(-1, 1, size=(120, 2)).astype(np.float32)
y = (x[:, :1] - 2 * x[:, 1:]).astype(np.float32)


def regression(features, labels, mode):
    guess = tf.layers.dense(features, 1, kernel_initializer=tf.zeros_initializer())
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=guess)
    loss = tf.losses.mean_squared_error(labels, guess)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def train_input():
    return tf.data.Dataset.from_tensor_slices((x[:96], y[:96])).repeat().batch(BATCH)


def test_input():
    return tf.data.Dataset.from_tensor_slices((x[96:], y[96:])).batch(BATCH)


model = tf.estimator.Estimator(regression, 'model', tf.estimator.RunConfig(save_checkpoints_steps=16))
stop = tf.estimator.experimental.stop_if_lower_hook(
    model, 'loss', 0.25, min_steps=16, run_every_secs=None, run_every_steps=1
)
tf.estimator.train_and_evaluate(
    model,
    tf.estimator.TrainSpec(train_input, max_steps=STEPS, hooks=[stop]),
    tf.estimator.EvalSpec(test_input, steps=None, throttle_secs=0),
)
print('ended')
