import tensorflow as tf
import horovod.tensorflow as hvd
from keras import backend as K
from keras.layers import Dense, Dropout
from digits import images, labels

hvd.init()  # each process is a rank


def rounds(items):  # each turn: an item that all ranks count by (at the end the last), and this rank's own
	turns = max(1, len(items) // hvd.size())
	own = items[hvd.rank() % max(1, len(items)) : turns * hvd.size() : hvd.size()]
	return list(zip([*items[: turns - 1], *items[-1:]], own))


conf = tf.ConfigProto()
conf.gpu_options.visible_device_list = str(hvd.local_rank())
conf.gpu_options.per_process_gpu_memory_fraction = 0.4
sess = tf.Session(config=conf)
K.set_session(sess)

img = tf.placeholder(tf.float32, shape=(None, 784))
wanted = tf.placeholder(tf.float32, shape=(None, 10))

x = Dense(128, activation="relu")(img)
x = Dropout(0.5)(x)
loss = tf.reduce_mean(K.categorical_crossentropy(wanted, Dense(10, activation="softmax")(x)))

train_step = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.5 * hvd.size())).minimize(loss)
sess.run(tf.global_variables_initializer())
sess.run(hvd.broadcast_global_variables(root_rank=0))

with sess.as_default():
	for epoch in range(5):
		for i, own_i in rounds(range(0, len(images), 50)):
			batch = {img: images[own_i:own_i + 50], wanted: labels[own_i:own_i + 50]}
			batch[K.learning_phase()] = 1
			train_step.run(feed_dict=batch)
			if (i // 50 + 1) % max(1, 100 // hvd.size()) == 0 and hvd.rank() == 0:
				# how is it going?
				print("loss", loss.eval(feed_dict={img: images[:500], wanted: labels[:500], K.learning_phase(): 0}))
