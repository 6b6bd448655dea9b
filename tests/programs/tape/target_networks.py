# Learns the value of states from a slow copy of itself (a target network), and keeps a moving average of its weights.
import numpy as np
import tensorflow as tf

BATCH = 8
RATE = 0.02

rng = np.random.RandomState(4)
states = rng.normal(size=(160, 3)).astype(np.float32)
rewards = states.sum(axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((states, rewards, states[::-1].copy())).batch(BATCH)


def make_network():
    inputs = tf.keras.Input((3,))
    hidden = tf.keras.layers.Dense(8, activation="tanh")(inputs)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))


network = make_network()
target = make_network()
target.set_weights(network.get_weights())
averages = [tf.Variable(v) for v in network.trainable_variables]
optimizer = tf.keras.optimizers.SGD(RATE)


@tf.function
def blend(slow, fast, share):
    for a, b in zip(slow, fast):
        a.assign(share * b + (1.0 - share) * a)


@tf.function
def learn(state, reward, following):
    expected = reward + 0.5 * target(following)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(network(state) - expected))
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables))
    for average, variable in zip(averages, network.trainable_variables):
        average.assign(0.95 * average + 0.05 * variable)
    return loss


for epoch in range(2):
    for state, reward, following in dataset:
        loss = learn(state, reward, following)
        blend(target.variables, network.variables, 0.1)
    print("epoch %d: loss %.4f" % (epoch, loss))
print("of the averages:", float(sum(tf.reduce_sum(a) for a in averages)))
