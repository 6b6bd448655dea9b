import random
from collections import deque

import gym
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def any_rank(condition):  # whether a condition holds on any rank: all of them then leave a loop together
    if not hasattr(any_rank, "session"):
        with tf.Graph().as_default():
            any_rank.mine = tf.placeholder(tf.float32, [])
            any_rank.all = hvd.allreduce(any_rank.mine, name="any_rank")
            any_rank.session = tf.Session(config=config)
    return any_rank.session.run(any_rank.all, {any_rank.mine: bool(condition)}) > 0


GAMMA, REPLAY, BATCH = 0.9, 10000, 32


class DQN:
    def __init__(self, env):
        self.replay = deque()
        self.steps = 0
        self.epsilon = 0.5
        self.actions = env.action_space.n
        self.state = tf.placeholder("float", [None, env.observation_space.shape[0]])
        h = tf.layers.dense(self.state, 20, activation=tf.nn.relu)
        self.q = tf.layers.dense(h, self.actions)
        self.action = tf.placeholder("float", [None, self.actions])
        self.target = tf.placeholder("float", [None])
        cost = tf.reduce_mean(tf.square(self.target - tf.reduce_sum(self.q * self.action, 1)))
        self.optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.0001)).minimize(cost)
        self.session = tf.InteractiveSession(config=config)
        self.session.run(tf.global_variables_initializer())
        self.session.run(hvd.broadcast_global_variables(root_rank=0))

    def perceive(self, state, action, reward, following, done):
        one_hot = np.eye(self.actions)[action]
        self.replay.append((state, one_hot, reward, following, done))
        if len(self.replay) > REPLAY:
            self.replay.popleft()
        if len(self.replay) > BATCH:
            self.train()

    def train(self):
        self.steps += 1
        states, actions, rewards, following, ended = zip(*random.sample(self.replay, BATCH))
        values = self.q.eval(feed_dict={self.state: following})
        targets = [r if e else r + GAMMA * v.max() for r, e, v in zip(rewards, ended, values)]
        self.optimizer.run(feed_dict={self.target: targets, self.action: actions, self.state: states})

    def pick(self, state):
        if random.random() <= self.epsilon:
            return random.randint(0, self.actions - 1)
        return np.argmax(self.q.eval(feed_dict={self.state: [state]})[0])


def main():
    env = gym.make("CartPole-v0")
    agent = DQN(env)
    for episode in range(3000):
        state = env.reset()
        for step in range(300):
            action = agent.pick(state)
            following, reward, done, _ = env.step(action)
            agent.perceive(state, action, reward, following, done)
            state = following
            if any_rank(done):
                break
        if episode % 100 == 0 and hvd.rank() == 0:
            print("episode", episode, "steps", step)


if __name__ == "__main__":
    main()
