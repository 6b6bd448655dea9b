"""Two modes that exclude each other and share an optimizer: by a tape, or by `fit`, which runs here."""
import argparse

import numpy as np
import tensorflow as tf

BATCH_SIZE = 16

generator = np.random.default_rng(5)
features = generator.normal(size=(384, 5)).astype("float32")
targets = (features @ generator.normal(size=(5, 1)) + 0.3).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(BATCH_SIZE)


def train_eagerly(model, optimizer):
    for epoch in range(3):
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def train_with_fit(model, optimizer):
    model.compile(optimizer, "mse")
    model.fit(dataset, epochs=3, verbose=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("eager", "fit"), default="fit")
    args = parser.parse_args()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(5,))])
    optimizer = tf.keras.optimizers.SGD(0.02)
    if args.mode == "eager":
        train_eagerly(model, optimizer)
    elif args.mode == "fit":
        train_with_fit(model, optimizer)
    print("loss", float(tf.reduce_mean((model(features) - targets) ** 2)))


if __name__ == "__main__":
    main()
