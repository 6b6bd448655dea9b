"""A policy gradient for a pole on a cart."""
import gym
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
gpus = tf.config.experimental.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")


def any_rank(condition):  # whether a condition holds on any rank: all of them then leave a loop together
    return bool(hvd.allreduce(tf.cast(condition, tf.float32)) > 0)


env = gym.make("CartPole-v0")
policy = tf.keras.Sequential([
    tf.keras.layers.Dense(32, activation="relu", input_shape=(4,)),
    tf.keras.layers.Dense(2),
])
optimizer = tf.keras.optimizers.Adam(
    learning_rate=0.01,  # found by hand
)


def discounted(rewards: list, gamma: float = 0.99) -> np.ndarray:
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        found.insert(0, total)
    return np.array(found, dtype=np.float32)


running = 0
hvd.broadcast_variables(policy.variables, root_rank=0)
for episode in range(400):
    state, rewards, logs, done = env.reset(), [], [], False
    with tf.GradientTape() as tape:
        while not done:
            logits = policy(state[None])
            action = int(tf.random.categorical(logits, 1)[0, 0])
            logs.append(tf.nn.log_softmax(logits)[0, action])
            state, reward, done, _ = env.step(action)
            rewards.append(reward)
        loss = -tf.reduce_sum(tf.stack(logs) * discounted(rewards))
    tape = hvd.DistributedGradientTape(tape)
    grads = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(grads, policy.trainable_variables))
    running = 0.95 * running + 0.05 * sum(rewards)
    if episode % 20 == 0 and hvd.rank() == 0:
        print("episode", episode, "reward", running)
    if any_rank(running > 195):
        if hvd.rank() == 0:
            print("solved")
        break

if hvd.rank() == 0:
    policy.save_weights("policy.h5")
