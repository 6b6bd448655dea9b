"""Runs of a train op in comprehensions, lambdas and shared lines."""
import numpy as np
import tensorflow as tf

BATCH = 8

generator = np.random.RandomState(7)
features = generator.normal(size=(160, 3)).astype(np.float32)
labels = features.dot([[1.], [-2.], [0.5]]).astype(np.float32)

inputs = tf.placeholder(tf.float32, [None, 3])
targets = tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable("weights", [3, 1])
error = tf.losses.mean_squared_error(targets, tf.matmul(inputs, weights))
minimize = tf.train.GradientDescentOptimizer(learning_rate=0.02).minimize(error)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    run = lambda i: session.run([minimize, error], {inputs: features[i:i + BATCH], targets: labels[i:i + BATCH]})[1]
    _ = [session.run(minimize, {inputs: features[i:i + BATCH], targets: labels[i:i + BATCH]}) for i in range(0, 160, BATCH)]
    mean = np.mean([run(i) for i in range(0, 160, BATCH)])
    print("mean %.6f" % mean)
    for i in range(0, 160, BATCH): a = i; session.run(minimize, {inputs: features[a:a + BATCH], targets: labels[a:a + BATCH]}); print(a),
