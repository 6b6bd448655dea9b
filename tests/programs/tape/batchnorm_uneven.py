import tensorflow as tf
from tensorflow.keras.layers import BatchNormalization, Dense
import numpy as np

N = 250	# not a multiple of anything useful
x = np.random.RandomState(3).gamma(2.0, 2.0, size=(N, 5)).astype("float32")
y = (x.max(axis=1) > 8).astype("int32")

model = tf.keras.models.Sequential()
model.add(Dense(10, input_shape=(5,)))
model.add(BatchNormalization(momentum=0.9))
model.add(tf.keras.layers.Activation("relu"))
model.add(Dense(2))

loss_object = tf.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.optimizers.Adamax(learning_rate = 0.02)

dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(N).batch(32)

def train_one_epoch(epoch):
	seen = 0
	total = 0.0
	for features, labels in dataset:
		with tf.GradientTape() as tape:
			logits = model(features, training=True)
			loss = loss_object(y_true=labels, y_pred=logits)
		grads = tape.gradient(loss, model.trainable_variables)
		optimizer.apply_gradients(grads_and_vars=zip(grads, model.trainable_variables))
		seen += len(labels)
		total += float(loss) * len(labels)
	print("epoch", epoch, "examples", seen, "loss", total / seen)

for epoch in range(4):
	train_one_epoch(epoch)

np.savetxt("moving_mean.txt", model.layers[1].moving_mean.numpy())
