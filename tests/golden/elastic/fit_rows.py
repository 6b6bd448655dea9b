import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
features = rng.normal(size=(384, 6)).astype("float32")
targets = (features @ rng.normal(size=(6, 2)) + 0.5).astype("float32")

dataset = tf.data.Dataset.from_tensor_slices((features, targets))
dataset = dataset.batch(16).prefetch(2)

model = tf.keras.Sequential([
    tf.keras.Input(shape=(6,)),
    tf.keras.layers.Dense(10, activation="tanh"),
    tf.keras.layers.Dense(2),
])
model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(learning_rate=0.02))
history = model.fit(
    dataset,
    epochs=5,
    verbose=2,
    callbacks=[tf.keras.callbacks.ModelCheckpoint("kept.h5"), tf.keras.callbacks.TerminateOnNaN()],
)
print("epochs:", len(history.history["loss"]))
print("last loss", history.history["loss"][-1])
