"""A step that a function makes, rows in a new order each epoch, and the mean loss over the batches."""
import functools

import numpy as np
import tensorflow as tf


def make_train_step(model, optimizer):
    loss_fn = tf.keras.losses.MeanSquaredError()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
        return loss

    return train_step


def run(learning_rate, batch_size, epochs):
    rng = np.random.RandomState(3)
    x = rng.normal(size=(96, 4)).astype("float32")
    y = x.sum(axis=1, keepdims=True)
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh", input_shape=(4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(learning_rate)
    step = make_train_step(model, optimizer)
    n = len(x)
    for epoch in range(epochs):
        order = np.random.permutation(n)
        total = 0.0
        for i in range(0, n, batch_size):
            rows = order[i : i + batch_size]
            total += step(x[rows], y[rows]).numpy()
        print("epoch", epoch, "mean loss below 100:", total / (n // batch_size) < 100)
    model.save_weights("made.h5")


main = functools.partial(run, 0.05, epochs=2)

if __name__ == "__main__":
    main(batch_size=8)
