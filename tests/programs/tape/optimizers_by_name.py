import numpy as np
import tensorflow as tf

BATCH_SIZE = 16
RATE = 0.03
NAMES = ("left", "right")

generator = np.random.default_rng(7)
features = generator.normal(size=(320, 4)).astype("float32")
targets = (features @ generator.normal(size=(4, 2))).astype("float32")

models, optimizers = {}, {"unused": tf.keras.optimizers.Adam(0.5)}
for name in NAMES:
    models[name] = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    optimizers[name] = tf.keras.optimizers.SGD(RATE)

dataset = tf.data.Dataset.from_tensor_slices((features, targets)).batch(BATCH_SIZE)

for epoch in range(3):
    for x, y in dataset:
        for column, name in enumerate(NAMES):
            model = models[name]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True)[:, 0] - y[:, column]) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizers[name].apply_gradients(zip(gradients, model.trainable_variables))
    print("epoch", epoch, "loss", float(loss))
