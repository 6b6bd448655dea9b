# No hooks: the session stops when the pipeline does
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
rows = rng.normal(size=(110, 3)).astype(np.float32)
sums = rows.sum(axis=1, keepdims=True)

dataset = tf.data.Dataset.from_tensor_slices((rows, sums)).batch(10).repeat(2)
x, y = dataset.make_one_shot_iterator().get_next()
w = tf.get_variable("w", [3, 1])
loss = tf.losses.mean_squared_error(y, tf.matmul(x, w))
train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

with tf.train.MonitoredTrainingSession() as sess:
	while not sess.should_stop():
		sess.run(train_op)
print("done")
