# A line, and the sum of its squared errors over an odd number of points
import numpy as np
import tensorflow as tf

points = np.linspace(-1.0, 1.0, 37).astype(np.float32)
heights = (1.5 * points - 0.25).astype(np.float32)
n = points.shape[0]

slope = tf.Variable(0.1)
start = tf.Variable(0.0)
adam = tf.optimizers.Adam(0.05)


def line(x):
    return slope * x + start


def cost(guess, truth):
    return tf.reduce_sum(tf.pow(guess - truth, 2)) / (2 * n)


@tf.function
def improve():
    with tf.GradientTape() as g:
        loss = cost(line(points), heights)
    gradients = g.gradient(loss, [slope, start])
    adam.apply_gradients(zip(gradients, [slope, start]))


for step in range(1, 81):
    improve()
    if step % 20 == 0:
        print("step", step, "cost", float(cost(line(points), heights)))

print("slope", round(float(slope), 3), "start", round(float(start), 3))
