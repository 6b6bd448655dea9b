import numpy as np
import tensorflow as tf

r = np.random.RandomState(21)
inputs = r.uniform(-1, 1, (240, 4)).astype(np.float32)
outputs = np.tanh(inputs @ r.normal(size=(4, 1))).astype(np.float32) + r.normal(0, 0.3, (240, 1)).astype(np.float32)

train_set = tf.data.Dataset.from_tensor_slices((inputs, outputs)).shuffle(240).batch(12)
net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh", input_shape=(4,)), tf.keras.layers.Dense(1)])
rate = 0.05
opt = tf.keras.optimizers.SGD(learning_rate=rate)


@tf.function
def train_one_step(x, y):
    with tf.GradientTape() as t:
        loss = tf.reduce_mean(tf.square(y - net(x, training=True)))
    opt.apply_gradients(zip(t.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


def train_one_epoch():
    total, steps = 0.0, 0
    for x, y in train_set:
        total += train_one_step(x, y)
        steps += 1
    return total / steps, steps


best, waited, history = float("inf"), 0, []
for epoch in range(20):
    loss, steps = train_one_epoch()
    history.append(float(loss))
    if loss < best - 1e-3:
        best, waited = loss, 0
    else:
        waited += 1
        if waited == 2:
            waited = 0
            rate = rate / 2
            opt.learning_rate.assign(rate)
    print("epoch", epoch, "loss %.4f" % float(loss), "rate %.4f" % rate)
    if np.mean(history[-3:]) < 0.01 or rate < 1e-9:
        break

print("final loss %.5f" % history[-1])
