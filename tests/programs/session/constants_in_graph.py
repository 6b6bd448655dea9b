# Fahrenheit from Celsius; the data are part of the graph
import tensorflow as tf

celsius = [-1., 0., 0.5, 2.]
fahrenheit = [30.2, 32., 32.9, 35.6]

slope = tf.Variable(tf.random_normal([1]), name="slope")
zero = tf.Variable(tf.random_normal([1]), name="zero")
error = tf.reduce_mean(tf.square(celsius * slope + zero - fahrenheit))
train = tf.train.GradientDescentOptimizer(learning_rate=0.05).minimize(error)

with tf.Session() as sess:
	sess.run(tf.global_variables_initializer())

	for step in range(60):
		_, now, at = sess.run([train, error, [slope, zero]])

		if step % 20 == 0:
			print(step, now, at)	# one line in twenty
