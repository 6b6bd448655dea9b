"""Rows chosen by numbers that are made of a turn's, a step that a function returns, and an end by the sum of an epoch's losses."""
import numpy as np
import tensorflow as tf

BATCH = 8

generator = np.random.RandomState(7)
features = generator.normal(size=(160, 3)).astype(np.float32)
labels = features.dot([[1.], [-2.], [0.5]]).astype(np.float32)

inputs = tf.placeholder(tf.float32, [None, 3])
targets = tf.placeholder(tf.float32, [None, 1])


def build():
    weights = tf.get_variable("weights", [3, 1])
    error = tf.losses.mean_squared_error(targets, tf.matmul(inputs, weights))
    step = tf.train.get_or_create_global_step()
    return error, tf.train.GradientDescentOptimizer(learning_rate=0.02).minimize(error, global_step=step), step


error, minimize, step = build()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(3):
        total = 0.0
        for i in range(len(features) // BATCH):
            chosen = np.arange(i * BATCH, (i + 1) * BATCH)
            feed = {inputs: [features[i] for i in chosen], targets: labels[chosen]}
            loss, _, number = session.run([error, minimize, step], feed_dict=feed)
            total += loss
            if number % 20 == 0:
                print("step %d" % number)
        if total < 0.001:
            break
    print("error %.6f" % session.run(error, {inputs: features, targets: labels}))
