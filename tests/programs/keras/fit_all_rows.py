# The batch is all there is
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
x = rng.normal(size=(64, 3)).astype("float32")
y = (x[:, 0] - 2 * x[:, 2] > 0).astype("float32")

model = tf.keras.Sequential([
    tf.keras.layers.Dense(5, activation="relu", input_shape=(3,)),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.02), loss="binary_crossentropy")
model.fit(x, y, batch_size=len(x), epochs=30, verbose=0)
print("loss:", round(model.evaluate(x, y, verbose=0), 4))
