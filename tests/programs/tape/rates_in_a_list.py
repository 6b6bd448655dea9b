# The number of a step selects its rows and one of a few rates; the last step is known by its number.
import numpy as np
import tensorflow as tf

RATES = [0.1, 0.05, 0.02, 0.01]
STEPS, BATCH = 120, 8

rng = np.random.RandomState(0)
x = rng.normal(size=(480, 4)).astype("float32")
y = (x @ rng.normal(size=(4, 1))).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(RATES[0])

for step in range(STEPS):
    optimizer.learning_rate.assign(RATES[step // 30])
    start = step * BATCH % len(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x[start : start + BATCH]) - y[start : start + BATCH]) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step % 30 == 29:
        print("stage: %.4f" % optimizer.learning_rate.numpy())
    if step + 1 == STEPS:
        model.save_weights("last.weights.h5")
        print("saved")
print("error: %.4f" % np.mean((model(x).numpy() - y) ** 2))
