"""G2: weights that one network gets from another by what each rank has measured are asked about."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

HEAD = """\
import operator
import numpy as np
import tensorflow as tf
data = tf.data.Dataset.range(64).map(lambda i: tf.cast([i], tf.float32)).batch(4)
class Member:
    def __init__(self, rate):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        self.opt, self.loss, self.rate = tf.keras.optimizers.SGD(rate), 0.0, rate
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(x) ** 2)
        weights = self.model.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.loss = float(loss)
members = [Member(rate) for rate in (0.1, 0.01, 0.001)]
for epoch in range(3):
    for x in data:
        for member in members:
            member.step(x)
"""
COPY = "{worst}.model.set_weights({best}.model.get_weights())"


def asked(lines: str, copy: str) -> bool:
    source = HEAD + "".join(f"    {line}\n" for line in (*lines.split("; "), copy) if line)
    return any("what each rank measures of its own rows" in d for d in doubts(plan_of(source), "G2"))


@pytest.mark.parametrize(
    ("lines", "worst", "best"),
    [
        ("ranked = sorted(members, key=lambda m: m.loss)", "ranked[-1]", "ranked[0]"),
        ("ranked = sorted(members, key=operator.attrgetter('loss'))", "ranked[-1]", "ranked[0]"),
        ("best = min(members, key=lambda m: m.loss)", "members[0]", "best"),
        ("losses = [m.loss for m in members]; i = np.argmin(losses)", "members[0]", "members[i]"),
        ("members.sort(key=lambda m: m.loss)", "members[-1]", "members[0]"),
    ],
)
def test_a_network_that_is_picked_by_own_rows(lines: str, worst: str, best: str) -> None:
    assert asked(lines, COPY.format(worst=worst, best=best))


@pytest.mark.parametrize(
    ("lines", "copy"),
    [
        # near misses: by a setting; by no measure; nothing is set by it
        ("best = min(members, key=lambda m: m.rate)", COPY.format(worst="members[0]", best="best")),
        ("", COPY.format(worst="members[0]", best="members[1]")),
        ("best = min(members, key=lambda m: m.loss)", COPY.format(worst="members[0]", best="members[1]")),
        ("best = min(members, key=lambda m: m.loss)", "print(best.rate)"),
    ],
)
def test_a_network_that_all_ranks_pick_alike(lines: str, copy: str) -> None:
    assert not asked(lines, copy)
