# exclusive or, watched in TensorBoard
import numpy as np
import tensorflow as tf

x_data = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
y_data = np.array([[0], [1], [1], [0]], dtype=np.float32)

X = tf.placeholder(tf.float32, [None, 2], name="x")
Y = tf.placeholder(tf.float32, [None, 1], name="y")

with tf.name_scope("below"):
    W1 = tf.Variable(tf.random_normal([2, 3]), name="w")
    b1 = tf.Variable(tf.random_normal([3]), name="b")
    below = tf.sigmoid(tf.matmul(X, W1) + b1)
    tf.summary.histogram("w", W1)

with tf.name_scope("above"):
    W2 = tf.Variable(tf.random_normal([3, 1]), name="w")
    b2 = tf.Variable(tf.random_normal([1]), name="b")
    above = tf.sigmoid(tf.matmul(below, W2) + b2)

with tf.name_scope("cost"):
    cost = -tf.reduce_mean(Y * tf.log(above) + (1 - Y) * tf.log(1 - above))
    tf.summary.scalar("cost", cost)

with tf.name_scope("train"):
    train = tf.train.AdamOptimizer(learning_rate=0.01).minimize(cost)

with tf.Session() as sess:
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter("./board/xor")
    writer.add_graph(sess.graph)

    sess.run(tf.global_variables_initializer())

    for step in range(40):
        _, summary, value = sess.run([train, merged, cost], feed_dict={X: x_data, Y: y_data})
        writer.add_summary(summary, global_step=step)

        if step % 10 == 0:
            print(step, value)

    writer.close()
    print("answers:", sess.run(tf.round(above), feed_dict={X: x_data}).ravel())
