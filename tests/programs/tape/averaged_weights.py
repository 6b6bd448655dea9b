# A slow copy of the weights follows the model with each step; what the model predicts is compared with what the copy does.
import numpy as np
import tensorflow as tf

DECAY = 0.95
EPOCHS = 3
BATCH = 8

rng = np.random.RandomState(4)
x = rng.uniform(-1, 1, (256, 3)).astype('float32')
y = (x @ [[1.5], [-0.5], [1.0]]).astype('float32')
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer='zeros')])


model, slow = build(), build()
optimizer = tf.keras.optimizers.SGD(0.02)


def follow():
    for copy, weight in zip(slow.variables, model.variables):
        copy.assign(DECAY * copy + (1 - DECAY) * weight)


for epoch in range(EPOCHS):
    for features, targets in dataset:
        with tf.GradientTape() as tape:
            guess = model(features, training=True)
            agreeing = tf.reduce_mean(tf.square(guess - slow(features)))
            loss = tf.reduce_mean(tf.square(guess - targets)) + 0.1 * agreeing
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        follow()
    print('epoch', epoch, 'loss %.4f' % loss.numpy(), 'apart %.4f' % agreeing.numpy())
