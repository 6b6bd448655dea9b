# Each fold begins again with the weights that the model had at first.
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(512, 6)).astype("float32")
y = np.tanh(x[:, :1])
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(16)
net = tf.keras.Sequential([tf.keras.layers.Dense(12, "relu", input_shape=(6,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)


def step(xb, yb):
    with tf.GradientTape() as tape:
        l = tf.reduce_mean((net(xb) - yb) ** 2)
    opt.apply_gradients(zip(tape.gradient(l, net.trainable_variables), net.trainable_variables))
    return l


start = net.get_weights()
for fold in range(3):
    net.set_weights(start)
    for epoch in range(2):
        for xb, yb in ds:
            loss = step(xb, yb)
        print(fold, epoch, float(loss))
