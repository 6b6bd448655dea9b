# Epochs are counted from the steps of an endless dataset, and end the loop; a rate changes in one of them.
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
X = rng.normal(size=(960, 8)).astype(np.float32)
Y = (X @ rng.normal(size=(8, 1))).astype(np.float32)
train = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(960).repeat().batch(16)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu", input_shape=(8,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
PER_EPOCH = 60
for step, (x, y) in enumerate(train):
    epoch = step // PER_EPOCH
    if epoch >= 3:
        break
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step % PER_EPOCH == PER_EPOCH - 1:
        print("epoch", epoch, float(loss))
        if epoch == 1:
            opt.learning_rate.assign(0.001)
