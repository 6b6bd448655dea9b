# A head learns on a base that has random weights; then both do. One function takes the steps of both.
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(5)
x = rng.normal(size=(320, 6)).astype("float32")
y = (x[:, :1] * x[:, 1:2]).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(10)

base = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="tanh", input_shape=(6,))])
head = tf.keras.layers.Dense(1)
head.build((None, 12))


def train(variables, optimizer, passes):
    for _ in range(passes):
        for features, targets in rows:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((head(base(features)) - targets) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    print("loss: %.4f" % loss.numpy())


train(head.trainable_variables, tf.keras.optimizers.SGD(0.05), 2)
np.save("base.npy", base.get_weights()[0])
train(base.trainable_variables + head.trainable_variables, tf.keras.optimizers.SGD(0.01), 3)
np.save("head.npy", head.get_weights()[0])
