# Fits a line, twice: with a tape and with minimize.
import numpy as np
import tensorflow as tf

X, Y = np.random.randn(500).astype('float32'), np.random.randn(500).astype('float32')
W = tf.Variable(np.random.randn(), name='weight'); b = tf.Variable(0.0, name='bias')
sgd = tf.optimizers.SGD(0.01)
other = tf.optimizers.Adagrad(learning_rate=0.01)

def loss(): return tf.reduce_mean(tf.square(W * X + b - Y))

def run_optimization():
  with tf.GradientTape() as g: cost = loss()
  gradients = g.gradient(cost, [W, b])
  sgd.apply_gradients(zip(gradients, [W, b]))

for step in range(1, 1001):
  run_optimization()
  if step % 50 == 0:
    print("step: %i, loss: %f, W: %f, b: %f" % (step, loss(), W.numpy(), b.numpy()))

for step in range(100):
  other.minimize(loss, var_list=[W, b])
