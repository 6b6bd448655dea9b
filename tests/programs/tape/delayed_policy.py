# Two critics' targets and an actor that follows every second step, trained on a log; evaluates every so many steps.
import numpy as np
import tensorflow as tf

POLICY_FREQ = 2
TAU = 0.05
MAX_TIMESTEPS = 160
EVAL_FREQ = 40
rng = np.random.RandomState(0)


class Buffer:
    def __init__(self, n):
        self.s = rng.normal(size=(n, 3)).astype('float32')
        self.a = rng.uniform(-1, 1, (n, 1)).astype('float32')
        self.r = (-(self.s[:, :1] - self.a) ** 2).astype('float32')
        self.s2 = rng.normal(size=(n, 3)).astype('float32')
        self.size = n

    def sample(self, batch_size):
        ind = np.random.randint(0, self.size, size=batch_size)
        return self.s[ind], self.a[ind], self.r[ind], self.s2[ind]


def mlp(n_in, n_out, act=None):
    return tf.keras.Sequential([tf.keras.layers.Dense(8, activation='relu', input_shape=(n_in,)), tf.keras.layers.Dense(n_out, activation=act)])


class TD3:
    def __init__(self):
        self.actor, self.actor_target = mlp(3, 1, 'tanh'), mlp(3, 1, 'tanh')
        self.critic, self.critic_target = mlp(4, 1), mlp(4, 1)
        self.actor_target.set_weights(self.actor.get_weights())
        self.critic_target.set_weights(self.critic.get_weights())
        self.actor_opt = tf.keras.optimizers.SGD(0.005)
        self.critic_opt = tf.keras.optimizers.SGD(0.01)
        self.total_it = 0

    def train(self, replay, batch_size=8):
        self.total_it += 1
        s, a, r, s2 = replay.sample(batch_size)
        target = r + 0.9 * self.critic_target(tf.concat([s2, self.actor_target(s2)], 1))
        with tf.GradientTape() as tape:
            critic_loss = tf.reduce_mean((self.critic(tf.concat([s, a], 1)) - tf.stop_gradient(target)) ** 2)
        self.critic_opt.apply_gradients(zip(tape.gradient(critic_loss, self.critic.trainable_variables), self.critic.trainable_variables))
        if self.total_it % POLICY_FREQ == 0:
            with tf.GradientTape() as tape:
                actor_loss = -tf.reduce_mean(self.critic(tf.concat([s, self.actor(s)], 1)))
            self.actor_opt.apply_gradients(zip(tape.gradient(actor_loss, self.actor.trainable_variables), self.actor.trainable_variables))
            for w, tw in zip(self.critic.variables, self.critic_target.variables):
                tw.assign(TAU * w + (1 - TAU) * tw)
            for w, tw in zip(self.actor.variables, self.actor_target.variables):
                tw.assign(TAU * w + (1 - TAU) * tw)


policy = TD3()
replay = Buffer(500)
evaluations = []
for t in range(MAX_TIMESTEPS):
    policy.train(replay)
    if (t + 1) % EVAL_FREQ == 0:
        s, a, r, s2 = replay.sample(50)
        score = float(tf.reduce_mean(-(s[:, :1] - policy.actor(s)) ** 2))
        evaluations.append(score)
        print('T %d eval %.4f' % (t + 1, score))
        np.save('evals.npy', evaluations)
print('iterations', policy.total_it)
