"""A class of one's own that is built by hand, which Keras 3 only notes: its layers get their weights with the first batch.
Trained by `fit`, and once more by a tape."""

import keras
import numpy as np
import tensorflow as tf


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([keras.layers.Dense(4, activation="relu")])
        self.head = keras.layers.Dense(1)

    def call(self, rows):
        return self.head(self.body(rows))


rows = np.random.RandomState(0)
x = rows.randn(256, 8).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(16)

fitted = Net()
fitted.build((None, 8))
fitted.compile(keras.optimizers.Adam(0.01), "mse")
fitted.fit(dataset, epochs=2)

model = Net()
model.build(input_shape=(None, 8))
optimizer = keras.optimizers.Adam(0.01)
for epoch in range(2):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(model(x, training=True) - y))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    print(epoch, float(loss))
