# Fits a line, one point after the other
import numpy
import tensorflow as tf
import matplotlib.pyplot as plt

rng = numpy.random
train_X = numpy.linspace(0, 10, 170)
train_Y = 2 * train_X + rng.randn(170)

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(rng.randn(), name="weight")
b = tf.Variable(rng.randn(), name="bias")

cost = tf.reduce_sum(tf.pow(X * W + b - Y, 2)) / (2 * 170)
optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)   # gradient descent

sess = tf.InteractiveSession()
sess.run(tf.initialize_all_variables())

for epoch in range(1000):
    for (x, y) in zip(train_X, train_Y):
        sess.run(optimizer, feed_dict={X: x, Y: y})
    if (epoch + 1) % 50 == 0:
        c = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
        print('Epoch:', '%04d' % (epoch + 1), 'cost=', '{:.9f}'.format(c), \
              'W=', sess.run(W), 'b=', sess.run(b))

plt.plot(train_X, train_Y, 'ro')
plt.plot(train_X, sess.run(W) * train_X + sess.run(b))
plt.savefig('line.png')
sess.close()
