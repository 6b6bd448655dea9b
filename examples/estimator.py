"""TensorFlow 1, an Estimator with a model function of its own: fits a line."""

import numpy as np
import tensorflow.compat.v1 as tf

x_data = np.linspace(0, 1, 256).astype("float32")
y_data = 3 * x_data + 1


def model_fn(features, labels, mode):
    slope = tf.get_variable("slope", initializer=0.0)
    offset = tf.get_variable("offset", initializer=0.0)
    predictions = slope * features["x"] + offset
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.mean_squared_error(labels, predictions)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


train_input = tf.estimator.inputs.numpy_input_fn(
    {"x": x_data}, y_data, batch_size=32, num_epochs=None, shuffle=True
)
estimator = tf.estimator.Estimator(model_fn)
estimator.train(train_input, steps=200)
evaluation = tf.estimator.inputs.numpy_input_fn({"x": x_data}, y_data, num_epochs=1, shuffle=False)
print(estimator.evaluate(evaluation))
