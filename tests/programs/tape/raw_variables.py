# Linear regression with two variables and nothing else.
import numpy as np
import tensorflow as tf

learning_rate = 0.05
batch_size = 8
training_epochs = 4

rng = np.random.RandomState(42)
X = rng.uniform(0, 3, size=(160, 3)).astype('float32')
Y = (X @ np.array([[1.0], [-0.5], [2.0]]) + 0.7).astype('float32')

W = tf.Variable(tf.random.normal([3, 1]), name='weight')
b = tf.Variable(tf.zeros([1]), name='bias')

optimizer = tf.optimizers.SGD(learning_rate)

train_data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(batch_size)

for epoch in range(training_epochs):
    for x, y in train_data:
        with tf.GradientTape() as g:
            pred = tf.matmul(x, W) + b
            loss = tf.reduce_mean(tf.square(pred - y))
        gradients = g.gradient(loss, [W, b])
        optimizer.apply_gradients(zip(gradients, [W, b]))
    print('epoch: %i, loss: %f' % (epoch + 1, loss))

print('W', W.numpy().ravel(), 'b', b.numpy())
np.savez('line.npz', W=W.numpy(), b=b.numpy())
