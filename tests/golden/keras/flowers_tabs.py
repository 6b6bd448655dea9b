"""Trains on the flowers; every option has a flag."""
import argparse
from typing import List, Optional

import tensorflow as tf
from tensorflow.keras.callbacks import Callback, TensorBoard


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
	model.compile(tf.keras.optimizers.Adam(rate), loss='categorical_crossentropy')
	return model


def train(model: tf.keras.Model, epochs: int, callbacks: Optional[List[Callback]] = None):
	images = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255)
	flow = images.flow_from_directory('flowers', target_size=(64, 64), batch_size=16)
	return model.fit(flow, steps_per_epoch=200, epochs=epochs, callbacks=callbacks)


def main() -> None:
	options = parse()
	model = build(options.rate)
	callbacks = []
	if options.logdir:
		callbacks.append(TensorBoard(options.logdir))
	history = train(model, options.epochs, callbacks)
	print(history.history)


if __name__ == '__main__':
	main()
