"""TensorFlow 1, a MonitoredTrainingSession: fits a line, saves checkpoints, stops after a number of steps."""

import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x_data = np.linspace(0, 1, 256).astype("float32")
y_data = 3 * x_data + 1

dataset = tf.data.Dataset.from_tensor_slices((x_data, y_data)).shuffle(256).repeat().batch(32)
x, y = dataset.make_one_shot_iterator().get_next()
slope = tf.get_variable("slope", initializer=0.0)
offset = tf.get_variable("offset", initializer=0.0)
loss = tf.reduce_mean(tf.square(slope * x + offset - y))
global_step = tf.train.get_or_create_global_step()
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)

hooks = [tf.train.StopAtStepHook(last_step=200)]
with tf.train.MonitoredTrainingSession(checkpoint_dir=tempfile.mkdtemp(), hooks=hooks) as session:
    while not session.should_stop():
        _, a, b = session.run([train_op, slope, offset])
print("slope", a, "offset", b)
