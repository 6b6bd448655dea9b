"""Plain gradient descent over slices, without shuffling."""
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
    for epoch in range(3):
        for i in range(len(features) // BATCH):
            batch_x = features[i * BATCH:(i + 1) * BATCH]
            batch_y = labels[i * BATCH:(i + 1) * BATCH]
            session.run(minimize, feed_dict={inputs: batch_x, targets: batch_y})
        print("epoch %d: error %.6f" % (epoch, session.run(error, {inputs: features, targets: labels})))
