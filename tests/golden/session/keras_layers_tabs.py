import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Dropout
from digits import images, labels

conf = tf.ConfigProto()
conf.gpu_options.per_process_gpu_memory_fraction = 0.4
sess = tf.Session(config=conf)
K.set_session(sess)

img = tf.placeholder(tf.float32, shape=(None, 784))
wanted = tf.placeholder(tf.float32, shape=(None, 10))

x = Dense(128, activation="relu")(img)
x = Dropout(0.5)(x)
loss = tf.reduce_mean(K.categorical_crossentropy(wanted, Dense(10, activation="softmax")(x)))

train_step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
sess.run(tf.global_variables_initializer())

with sess.as_default():
	for epoch in range(5):
		for i in range(0, len(images), 50):
			batch = {img: images[i:i + 50], wanted: labels[i:i + 50]}
			batch[K.learning_phase()] = 1
			train_step.run(feed_dict=batch)
			if (i // 50 + 1) % 100 == 0:
				# how is it going?
				print("loss", loss.eval(feed_dict={img: images[:500], wanted: labels[:500], K.learning_phase(): 0}))
