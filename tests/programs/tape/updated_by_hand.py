# Two layers whose weights are updated without an optimizer.
import numpy as np
import tensorflow as tf

rate = 0.05
batch_size = 8
rng = np.random.RandomState(7)
X = rng.uniform(-1, 1, size=(160, 4)).astype('float32')
Y = (X[:, :1] - 2 * X[:, 1:2] * X[:, 2:3]).astype('float32')

w1 = tf.Variable(tf.random.truncated_normal([4, 6], stddev=0.3))
b1 = tf.Variable(tf.zeros([6]))
out = [tf.Variable(tf.random.truncated_normal([6, 1], stddev=0.3)), tf.Variable(tf.zeros([1]))]

batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(batch_size)


def net(x):
    return tf.tanh(x @ w1 + b1) @ out[0] + out[1]


for epoch in range(3):
    for step, (x, y) in enumerate(batches):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.square(net(x) - y))
        grads = tape.gradient(loss, [w1, b1])
        w1.assign_sub(rate * grads[0])
        b1.assign(b1 - grads[1] * rate)
        for variable, g in zip(out, tape.gradient(loss, out)):
            variable.assign_sub(rate * g)
        if step % 10 == 0:
            print(epoch, step, 'loss:', float(loss))

np.savez('net.npz', w1=w1.numpy(), b1=b1.numpy(), w2=out[0].numpy())
