"""Evaluates after each checkpoint while it trains."""
import numpy as np
import tensorflow as tf

BATCH = 12
RATE = 0.05
STEPS = 24

x = np.random.RandomState(7).uniform(-1, 1, size=(120, 2)).astype(np.float32)
y = (x[:, :1] * x[:, 1:]).astype(np.float32)


def regression(features, labels, mode):
    hidden = tf.layers.dense(features, 8, activation=tf.nn.relu)
    guess = tf.layers.dense(hidden, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=guess)
    loss = tf.losses.mean_squared_error(labels, guess)
    error = {'error': tf.metrics.mean_absolute_error(labels, guess)}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=error)
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def train_input():
    return tf.data.Dataset.from_tensor_slices((x[:96], y[:96])).repeat().batch(BATCH)


def test_input():
    return tf.data.Dataset.from_tensor_slices((x[96:], y[96:])).batch(BATCH)


config = tf.estimator.RunConfig(save_checkpoints_steps=8)
config = config.replace(model_dir='model')
model = tf.estimator.Estimator(regression, config=config)
found, _ = tf.estimator.train_and_evaluate(
    model,
    tf.estimator.TrainSpec(train_input, max_steps=STEPS),
    tf.estimator.EvalSpec(test_input, steps=None, throttle_secs=0),
)
print('%.3f' % found['error'])
