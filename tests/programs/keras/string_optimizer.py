"""Classify four blobs with a small dense network."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
centers = rng.normal(scale=3.0, size=(4, 12))
labels = rng.randint(0, 4, size=800)
points = (centers[labels] + rng.normal(size=(800, 12))).astype("float32")

x_train, y_train = points[:600], labels[:600]
x_test, y_test = points[600:], labels[600:]

model = tf.keras.models.Sequential([
    tf.keras.layers.Dense(32, activation="relu", input_shape=(12,)),
    tf.keras.layers.Dropout(0.2),
    tf.keras.layers.Dense(4, activation="softmax"),
])

model.compile(optimizer="adam",
              loss="sparse_categorical_crossentropy",
              metrics=["accuracy"])
model.summary()

model.fit(x_train, y_train, batch_size=20, epochs=4)

loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("test loss %.3f, accuracy %.3f" % (loss, accuracy))

model.save("blobs.h5")
print("saved blobs.h5")
