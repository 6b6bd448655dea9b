'''Ohm's law from measurements, one at a time.'''
from __future__ import print_function

import numpy as np
import tensorflow as tf

volts = np.linspace(0.5, 4.0, 16)
amperes = 0.47 * volts + 0.1 * np.sin(7 * volts)
count = volts.shape[0]

U = tf.placeholder("float")
I = tf.placeholder("float")

conductance = tf.Variable(np.random.randn(), name="conductance")
offset = tf.Variable(np.random.randn(), name="offset")
estimate = tf.add(tf.multiply(U, conductance), offset)

cost = tf.reduce_sum(tf.pow(estimate-I, 2))/(2*count)
step = tf.train.GradientDescentOptimizer(0.1).minimize(cost)

init = tf.global_variables_initializer()
with tf.Session() as sess:

    sess.run(init)

    for epoch in range(4):
        for (u, i) in zip(volts, amperes):
            sess.run(step, feed_dict={U: u, I: i})

        # every second pass
        if (epoch+1) % 2 == 0:
            c = sess.run(cost, feed_dict={U: volts, I:amperes})
            print("pass", epoch+1, "cost {:.6f}".format(c), \
                "conductance", sess.run(conductance), "offset", sess.run(offset))

    print("at last:", sess.run(cost, feed_dict={U: volts, I: amperes}), '\n')
