import numpy as np
import tensorflow as tf

MAX_EPOCHS = 30
TARGET = 0.02

r = np.random.RandomState(14)
inputs = r.uniform(-1, 1, (210, 4)).astype(np.float32)
outputs = np.tanh(inputs @ r.normal(size=(4, 1))).astype(np.float32)
test_inputs, test_outputs = inputs[:42], outputs[:42]

train_set = tf.data.Dataset.from_tensor_slices((inputs[42:], outputs[42:]))
train_set = train_set.shuffle(168).batch(14)

net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh", input_shape=(4,)), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(learning_rate=0.01)
mse = tf.keras.losses.MeanSquaredError()


def train_one_step(model, optimizer, x, y):
    with tf.GradientTape() as t:
        loss = mse(y, model(x, training=True))
    optimizer.apply_gradients(zip(t.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


epoch = 0
while True:
    epoch += 1
    losses = []
    for x, y in train_set:
        losses.append(train_one_step(net, opt, x, y).numpy())
    mean_loss = np.mean(losses)
    print("epoch", epoch, "loss %.5f" % mean_loss)
    if mean_loss < TARGET:
        print("good enough")
        break
    if epoch >= MAX_EPOCHS:
        break

print("test loss %.5f" % mse(test_outputs, net(test_inputs)).numpy())
