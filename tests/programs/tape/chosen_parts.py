# Trains the head first and then all of it, by a list of phases; rates by step in a table, and a cycle of steps by a name.
import numpy as np
import tensorflow as tf

PHASES = [("head", True), ("all", False)]
RATES = {0: 0.02, 24: 0.01, 48: 0.005}
CYCLE = 16
rng = np.random.RandomState(2)
x = rng.uniform(-1, 1, (192, 5)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))

base = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="tanh", input_shape=(5,))])
head = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(12,))])
slow = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(12,))])
step, left = 0, 20

for name, frozen in PHASES:
    optimizer = tf.keras.optimizers.SGD(0.02)
    variables = head.trainable_variables if frozen else base.trainable_variables + head.trainable_variables
    for rows, targets in tf.data.Dataset.from_tensor_slices((x, y)).repeat(2).batch(8):
        if step in RATES:
            optimizer.learning_rate.assign(RATES[step])
            print("rate")
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((head(base(rows)) - targets) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        place = step % CYCLE
        if place == CYCLE - 1:
            slow.set_weights(head.get_weights())
            print("copied")
        left -= 1
        if left == 0:
            left = 20
            head.save_weights("head.weights.h5")
            print("kept")
        step += 1
