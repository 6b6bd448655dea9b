"""A `fit` again and again on what a game of each rank has given, which is played elsewhere: in a thread."""

from __future__ import annotations

import pytest

from .pairs import plan_of

SOURCE = """\
import random
import threading
from collections import deque
import gym
import numpy as np
import tensorflow as tf

class Agent:
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.memory = deque(maxlen=1000)
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.model.compile(loss="mse", optimizer=tf.keras.optimizers.Adam(learning_rate=0.001))

    def collect(self):
        state = self.env.reset()
        while True:
            following, reward, done, _ = {move}
            self.memory.append([state, reward, following])
            state = self.env.reset() if done else following

    def replay(self):
        samples = []
        for i in range(32):
            samples.append(random.sample(self.memory, 1)[0])
        s = np.array(samples).T
        states, rewards, following = [np.vstack(s[i, :]).astype(float) for i in range(3)]
        targets = rewards + 0.9 * self.model.predict(following)
        self.model.fit([states, rewards], targets, epochs=1, batch_size=32, verbose=0)

    def train(self):
        threading.Thread(target=self.collect, daemon=True).start()
        for epoch in range(1000):
            self.replay()

Agent().train()
"""


def test_rows_of_a_game_that_a_thread_plays_are_a_ranks_own() -> None:
    plan = plan_of(SOURCE.format(move="self.env.step(0)"))
    assert "self.model.fit([states, rewards], targets, " in plan.text
    assert "learning_rate=0.001))" in plan.text
    assert "broadcast_object" not in plan.text
    assert ["every rank plays as many games" in c.doubt for c in plan.changes if not c.sure] == [True]


@pytest.mark.parametrize("move", ["self.read(0)", "next(self.rows)"])
def test_rows_that_no_game_gives_are_divided(move: str) -> None:
    assert "[shard(states), shard(rewards)]" in plan_of(SOURCE.format(move=move)).text
