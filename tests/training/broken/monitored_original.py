"""A monitored session of TensorFlow 1, fed by a pipeline, for the probe to look at."""

import numpy as np
import tensorflow as tf

rows = np.random.RandomState(0).normal(size=(88, 3)).astype("float32")
x, y = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).repeat().batch(8).make_one_shot_iterator().get_next()
loss = tf.losses.mean_squared_error(y, tf.layers.dense(x, 1))
step = tf.train.get_or_create_global_step()
opt = tf.train.GradientDescentOptimizer(0.01)
train_op = opt.minimize(loss, global_step=step)

hooks = [tf.train.StopAtStepHook(last_step=22)]
with tf.train.MonitoredTrainingSession(checkpoint_dir="saved", hooks=hooks) as sess:
    while not sess.should_stop():
        sess.run(train_op)
