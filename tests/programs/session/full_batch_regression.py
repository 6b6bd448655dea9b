# The weight of parcels from their sides: every step sees all of them
import tensorflow as tf
tf.set_random_seed(42)

sides = [[3., 2., 1.],
         [4., 4., 2.],
         [1., 1., 5.],
         [2., 6., 2.],
         [5., 1., 3.],
         [2., 2., 2.]]
weights = [[1.4],
           [2.9],
           [2.2],
           [2.8],
           [2.5],
           [1.7]]

X = tf.placeholder(tf.float32, shape=[None, 3])
Y = tf.placeholder(tf.float32, shape=[None, 1])

W = tf.Variable(tf.random_normal([3, 1]), name='per_side')
b = tf.Variable(tf.random_normal([1]), name='empty')

guess = tf.matmul(X, W) + b
cost = tf.reduce_mean(tf.square(guess - Y))

optimizer = tf.train.GradientDescentOptimizer(learning_rate=1e-2)
train = optimizer.minimize(cost)

sess = tf.Session()
sess.run(tf.global_variables_initializer())

for step in range(61):
    c, g, _ = sess.run(
        [cost, guess, train], feed_dict={X: sides, Y: weights})
    if step % 20 == 0:
        print(step, "cost", c, "\nguesses:\n", g)

print("a cube weighs", sess.run(guess, feed_dict={X: [[3, 3, 3]]}))
