"""What is only run to be written down, under a condition with several names; a session of a block reads where to go on."""
import os

import numpy as np
import tensorflow as tf

BATCH = 8

generator = np.random.RandomState(3)
rows = generator.normal(size=(192, 3)).astype(np.float32)
wanted = rows.dot([[1.], [-2.], [0.5]]).astype(np.float32)

inputs = tf.placeholder(tf.float32, [None, 3])
targets = tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable("weights", [3, 1])
epoch_done = tf.Variable(0, trainable=False, name="epoch_done")
error = tf.losses.mean_squared_error(targets, tf.matmul(inputs, weights))
minimize = tf.train.GradientDescentOptimizer(0.02).minimize(error)
saver = tf.train.Saver()

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    last = tf.train.latest_checkpoint("kept")
    if last:
        saver.restore(sess, last)
    start = epoch_done.eval()
    for epoch in range(start, 4):
        for i in range(len(rows) // BATCH):
            x, y = rows[i * BATCH:(i + 1) * BATCH], wanted[i * BATCH:(i + 1) * BATCH]
            sess.run(minimize, feed_dict={inputs: x, targets: y})
        epoch_done.load(epoch + 1, sess)
        saver.save(sess, os.path.join("kept", "model"), global_step=epoch)
        if epoch % 2 == 1 or epoch == 0:
            now, learned = sess.run([error, weights], {inputs: rows, targets: wanted})
            with open("errors.txt", "a") as log:
                log.write("%d %.6f %.6f\n" % (epoch, now, learned.sum()))
    print("epochs", epoch_done.eval(),
          "error", sess.run(error, {inputs: rows, targets: wanted}))
    print("weights",
          sess.run(weights).ravel(),
          "of", len(rows), "rows",
          "in batches of", BATCH)
