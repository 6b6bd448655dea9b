# Batches and epochs that are counted by hand, sums and counts that are spelt out, a rate by way of another name.
import numpy as np
import tensorflow as tf

np.random.seed(6)
x = np.random.rand(256, 4).astype('float32')
y = x.sum(axis=1, keepdims=True)
epochs, batch = 4, 4
steps = len(x) // batch
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
rate = 0.02
optimizer = tf.keras.optimizers.SGD(rate)
heat = tf.Variable(1.0, trainable=False)
events = 0
epoch = 0
while epoch < epochs:
    order = np.random.permutation(len(x))
    total = 0.0
    step = 0
    while step < steps:
        turn = epoch * steps + step
        heat.assign(max(0.0, 1.0 - turn / (epochs * steps - 8)))
        chosen = order[step * batch:(step + 1) * batch]
        with tf.GradientTape() as tape:
            error = tf.reduce_mean(tf.square(model(x[chosen]) - y[chosen]))
            loss = error + heat * 0.001 * tf.reduce_sum(model.weights[0] ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        total = total + float(error)
        smaller = max(rate * 0.995, 0.001)
        rate = smaller
        optimizer.learning_rate = rate
        if (turn + 1) % 64 == 0:
            events = events + 1
        step = step + 1
    if epoch > 0:
        print('a mean error as one has:', total / steps < 0.3)
    epoch = epoch + 1
print('events:', events, 'the heat has gone:', float(heat) < 0.05, 'the rate:', abs(rate - 0.02 * 0.995 ** 256) < 1e-6)
print('learned:', float(tf.reduce_mean(tf.abs(model(x) - y))) < 0.3)
