# Fits a line, one point after the other
import numpy
import tensorflow as tf
import sys
import horovod.tensorflow as hvd
import matplotlib.pyplot as plt

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))
sys.stdout = sys.stdout if hvd.rank() == 0 else open('/dev/null', 'w', errors='replace')


def shard_batches(batches):  # every size()-th of some batches, and equally many on each rank, at least one
    batches = (batch for batch in batches)
    groups = iter(lambda: [batch for _, batch in zip(range(hvd.size()), batches)], [])
    return (g[hvd.rank() % len(g)] for i, g in enumerate(groups) if i == 0 or len(g) == hvd.size())


def from_root(value):  # rank 0's value, on every rank
    unfolded = tf.ConfigProto()
    unfolded.CopyFrom(config)
    unfolded.graph_options.rewrite_options.constant_folding = 2
    with tf.Graph().as_default(), tf.Session(config=unfolded):
        return hvd.broadcast_object(value, root_rank=0, name='value')


rng = numpy.random
train_X = numpy.linspace(0, 10, 170)
train_Y = 2 * train_X + from_root(rng.randn(170))

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(rng.randn(), name="weight")
b = tf.Variable(rng.randn(), name="bias")

cost = tf.reduce_sum(tf.pow(X * W + b - Y, 2)) / (2 * 170)
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(cost)   # gradient descent

sess = tf.InteractiveSession(config=config)
sess.run(tf.initialize_all_variables())
sess.run(hvd.broadcast_global_variables(root_rank=0))

for epoch in range(1000):
    for (x, y) in shard_batches(zip(train_X, train_Y)):
        sess.run(optimizer, feed_dict={X: x, Y: y})
    if (epoch + 1) % 50 == 0:
        c = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
        print('Epoch:', '%04d' % (epoch + 1), 'cost=', '{:.9f}'.format(c), \
              'W=', sess.run(W), 'b=', sess.run(b))

plt.plot(train_X, train_Y, 'ro')
plt.plot(train_X, sess.run(W) * train_X + sess.run(b))
if hvd.rank() == 0:
    plt.savefig('line.png')
sess.close()
