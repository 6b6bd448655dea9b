# A generator function takes the steps and yields their numbers; who goes through it saves, lowers the rate and prints by these.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
x = rng.uniform(-1, 1, (240, 4)).astype("float32")
y = np.tanh(x.sum(axis=1, keepdims=True))
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(240).batch(6)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh", input_shape=(4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.05)


def training(epochs):
    step = 0
    for epoch in range(epochs):
        for i, (some, labels) in enumerate(data):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(some) - labels) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            step += 1
            yield step, epoch * len(data) + i, loss


for step, number, loss in training(3):
    if step % 20 == 0:
        print("saved")
        model.save_weights("latest.weights.h5")
    if number == 59:
        print("lowered")
        optimizer.learning_rate.assign(0.01)
