# Fits a line, twice: with a tape and with minimize.
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
  tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
  tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')

def share_rows(rows):  # this rank's part of the rows that every step sees; all where ranks can't get equally many
  count = int(rows.shape[0]) if hasattr(rows, 'shape') else len(rows)
  return rows if count % hvd.size() else rows[hvd.rank() :: hvd.size()]

X, Y = hvd.broadcast_object(np.random.randn(500)).astype('float32'), hvd.broadcast_object(np.random.randn(500)).astype('float32')
W = tf.Variable(np.random.randn(), name='weight'); b = tf.Variable(0.0, name='bias')
sgd = tf.optimizers.SGD(0.01)
other = hvd.DistributedOptimizer(tf.optimizers.Adagrad(learning_rate=0.01))

def loss(): return tf.reduce_mean(tf.square(W * share_rows(X) + b - share_rows(Y)))

def run_optimization():
  with tf.GradientTape() as g: cost = loss()
  g = hvd.DistributedGradientTape(g)
  gradients = g.gradient(cost, [W, b])
  sgd.apply_gradients(zip(gradients, [W, b]))

hvd.broadcast_variables([W, b], root_rank=0)
for step in range(1, 1001):
  run_optimization()
  if step % 50 == 0 and hvd.rank() == 0:
    print("step: %i, loss: %f, W: %f, b: %f" % (step, loss(), W.numpy(), b.numpy()))

hvd.broadcast_variables([W, b], root_rank=0)
for step in range(100):
  other.minimize(loss, var_list=[W, b])
