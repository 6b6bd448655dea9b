# Learns what a random network says, which no step trains (random network distillation), of features that random weights make.
import numpy as np
import tensorflow as tf

BATCH = 8
RATE = 0.05

rng = np.random.RandomState(3)
states = rng.rand(160, 4).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices(states).batch(BATCH)

target = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))])
predictor = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))])
mixing = tf.Variable(tf.random.normal([4, 4]))
optimizer = tf.keras.optimizers.SGD(RATE)


@tf.function
def learn(state):
    goal = target(tf.tanh(tf.matmul(state, mixing)))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(predictor(state) - goal))
    gradients = tape.gradient(loss, predictor.trainable_variables)
    optimizer.apply_gradients(zip(gradients, predictor.trainable_variables))
    return loss


for epoch in range(3):
    for state in dataset:
        loss = learn(state)
    print("epoch %d: loss %.4f" % (epoch, loss))
