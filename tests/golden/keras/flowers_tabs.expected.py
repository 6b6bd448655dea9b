"""Trains on the flowers; every option has a flag."""
import argparse
from typing import List, Optional

import tensorflow as tf
import random
import horovod.tensorflow.keras as hvd
from tensorflow.keras.callbacks import Callback, TensorBoard

hvd.init()  # each process is a rank, and gets one GPU
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
	tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
	tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')


class ShardedFlow(tf.keras.utils.Sequence):
	"""Every size()-th batch of one of Keras' sequences, shuffled in one order on all ranks."""

	def __init__(self, sequence):
		self.sequence, self.rank, self.size = sequence, hvd.rank(), hvd.size()
		self.order = random.Random(sequence.seed or 0)
		self.on_epoch_end()

	def __len__(self):
		return max(1, len(self.sequence) // self.size)

	def __getitem__(self, index):
		return self.sequence[(index * self.size + self.rank) % len(self.sequence)]

	def on_epoch_end(self):
		if self.sequence.shuffle:
			self.sequence.index_array = self.order.sample(range(self.sequence.n), self.sequence.n)


def parse() -> argparse.Namespace:
	parser = argparse.ArgumentParser()
	parser.add_argument('--rate', type=float, default=1e-3)
	parser.add_argument('--epochs', type=int, default=10)
	parser.add_argument('--logdir', default=None)
	return parser.parse_args()


def build(rate: float) -> tf.keras.Model:
	"""A small network, compiled."""
	model: tf.keras.Model = tf.keras.Sequential()
	model.add(tf.keras.layers.GlobalAveragePooling2D(input_shape=(64, 64, 3)))
	model.add(tf.keras.layers.Dense(5, activation='softmax'))
	model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.Adam(rate * hvd.size())), loss='categorical_crossentropy')
	return model


def train(model: tf.keras.Model, epochs: int, callbacks: Optional[List[Callback]] = None):
	images = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255)
	flow = images.flow_from_directory('flowers', target_size=(64, 64), batch_size=16)
	hvd_callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
	hvd_callbacks += callbacks or []
	return model.fit(ShardedFlow(flow), steps_per_epoch=200 // hvd.size(), epochs=epochs, callbacks=hvd_callbacks, verbose=1 if hvd.rank() == 0 else 0)


def main() -> None:
	options = parse()
	model = build(options.rate)
	callbacks = []
	if options.logdir:
		if hvd.rank() == 0:
			callbacks.append(TensorBoard(options.logdir))
	history = train(model, options.epochs, callbacks)
	if hvd.rank() == 0:
		print(history.history)


if __name__ == '__main__':
	main()
