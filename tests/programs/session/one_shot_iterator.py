"""A pipeline of a few passes, until it runs dry."""
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

BATCH = 10
RATE = 0.05

samples = np.random.RandomState(6).uniform(size=(120, 3)).astype('float32')
values = samples @ np.array([[1.], [2.], [3.]], 'float32')

ds = tf.data.Dataset.from_tensor_slices((samples, values)).batch(BATCH).repeat(2)
x, y = tf.data.make_one_shot_iterator(ds).get_next()
w = tf.get_variable('w', [3, 1], initializer=tf.random_normal_initializer())
loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
train_op = tf.train.GradientDescentOptimizer(RATE).minimize(loss)

with tf.Session() as sess:
  sess.run(tf.global_variables_initializer())
  step = 0
  try:
    while True:
      sess.run(train_op)
      step += 1
  except tf.errors.OutOfRangeError:
    print('trained to the end')
  print(sess.run(w).ravel())
