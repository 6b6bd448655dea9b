import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", default="sgd")
parser.add_argument("--rate", type=float, default=0.02)
args = parser.parse_args()

BATCH_SIZE = 16

generator = np.random.default_rng(5)
features = generator.normal(size=(384, 5)).astype("float32")
targets = (features @ generator.normal(size=(5, 1)) + 0.3).astype("float32")


def momentum():
    if args.rate > 1:
        made = tf.keras.optimizers.RMSprop(args.rate / 100)
    else:
        made = tf.keras.optimizers.SGD(args.rate, momentum=0.9)
    return made


if args.optimizer == "sgd":
    optimizer = tf.keras.optimizers.SGD(args.rate)
elif args.optimizer == "adam":
    optimizer = tf.keras.optimizers.Adam(args.rate)
else:
    optimizer = momentum()

dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(BATCH_SIZE)

model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(5,))])
model.compile(optimizer=optimizer, loss="mse")
model.fit(dataset, epochs=3, verbose=0)

# once more, with everything frozen but the bias
second = {"slow": tf.keras.optimizers.SGD(0.01), "fast": tf.keras.optimizers.Adam(0.1)}
tuned = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(5,))])
tuned.compile(optimizer=second["slow" if args.rate < 1 else args.optimizer], loss="mse")
tuned.fit(dataset, epochs=2, verbose=0)
print("loss", model.evaluate(features, targets, verbose=0))
