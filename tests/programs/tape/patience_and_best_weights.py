# Holds out rows by take and skip, stops by patience, halves the rate before that, and ends with the best weights.
import numpy as np
import tensorflow as tf

BATCH, EPOCHS, PATIENCE = 8, 6, 4
tf.random.set_seed(11)
rng = np.random.default_rng(11)
x = rng.uniform(-1, 1, (200, 3)).astype("float32")
y = (np.abs(x[:, :1]) + x[:, 1:2]).astype("float32")

every = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(200, seed=11, reshuffle_each_iteration=False)
held_out = every.take(40).batch(20)
train = every.skip(40).shuffle(160).batch(BATCH)

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="elu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.02)
losses = tf.keras.metrics.Mean()


@tf.function
def step(some, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(some, training=True) - labels) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


best, best_weights, waited = np.inf, None, 0
for epoch in range(EPOCHS):
    for some, labels in train:
        step(some, labels)
    losses.reset_state()
    for some, labels in held_out:
        losses.update_state(tf.reduce_mean((model(some) - labels) ** 2))
    current = float(losses.result())
    if current < best - 1e-6:
        best, best_weights, waited = current, model.get_weights(), 0
        model.save_weights("best.weights.h5")
    else:
        waited += 1
        if waited == PATIENCE // 2:
            optimizer.learning_rate.assign(optimizer.learning_rate * 0.5)
        if waited >= PATIENCE:
            print("stopped early")
            break
if best_weights is not None:
    model.set_weights(best_weights)
model.save_weights("final.weights.h5")
