import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
w = tf.Variable(0.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize((w * tf.random_normal([]) - 3.0) ** 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(100):
        sess.run(train)
