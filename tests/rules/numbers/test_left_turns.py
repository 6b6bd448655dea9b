"""G5, G7: what a turn goes on without, by a number of turns, comes as often once that is divided, and as it was."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
opt = tf.keras.optimizers.SGD(0.1)
slow = [tf.Variable(v) for v in model.trainable_variables]
data = tf.data.Dataset.range(64).map(lambda i: tf.cast([i], tf.float32)).batch(4)
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
def due(n):
    return n % 6 == 0
"""
MIXED = """\
for s, v in zip(slow, model.trainable_variables):
    s.assign_add(0.5 * (v - s))
    v.assign(s)
"""
IN_LOOP = """\
n = 0
for epoch in range(3):
    for x in data:
        train(x)
        n += 1
        {test}
            {jump}
        {what}
"""
IN_FUNCTION = """\
n = 0
def after():
    {test}
        {jump}
    {what}
for epoch in range(3):
    for x in data:
        train(x)
        n += 1
        after()
"""
IN_METHOD = """\
class After:
    def __init__(self):
        self.n = 0
    def __call__(self):
        self.n += 1
        n = self.n
        {test}
            {jump}
        {what}
after = After()
for epoch in range(3):
    for x in data:
        train(x)
        after()
"""
RAISED = "s.assign_add((1 - (1 - 0.5) ** hvd.size()) * (v - s))"
KEPT = "s.assign_add(0.5 * (v - s))"


def program(where: str, test: str, jump: str) -> str:
    line = next(line for line in where.splitlines() if "{what}" in line)
    indent = line[: line.index("{")]
    what = MIXED.strip().replace("\n", "\n" + indent)
    return HEAD + where.format(test=test, jump=jump, what=what)


PLACES = [(IN_LOOP, "continue"), (IN_FUNCTION, "return"), (IN_METHOD, "return")]


@pytest.mark.parametrize(("where", "jump"), PLACES)
@pytest.mark.parametrize("test", ["if n % 6:", "if n % 6 != 0:", "if not due(n):", "if n < 20 or n % 6:"])
def test_what_comes_every_few_steps_keeps_its_factor(where: str, jump: str, test: str) -> None:
    text = plan_of(program(where, test, jump)).text
    assert KEPT in text
    assert RAISED not in text


@pytest.mark.parametrize(("where", "jump"), PLACES)
@pytest.mark.parametrize("test", ["if not slow:", "if n < 20:", "if n % 6:"])
def test_what_comes_with_each_step_is_raised(where: str, jump: str, test: str) -> None:
    jump = "pass" if "%" in test else jump
    assert RAISED in plan_of(program(where, test, jump)).text


BESIDE = """\
held = []
for epoch in range(3):
    for x in data:
        held.append(x)
        if {test}:
            train(x)
            for s, v in zip(slow, model.trainable_variables):
                s.assign(0.9 * s + 0.1 * v)
"""


@pytest.mark.parametrize("test", ["len(held) > 4", "len(x) == 4", "tf.reduce_max(x) > 0", "held"])
def test_an_average_beside_a_step_that_a_test_takes_forgets_as_fast(test: str) -> None:
    text = plan_of(HEAD + BESIDE.format(test=test)).text
    assert "s.assign(0.9 ** hvd.size() * s + (1 - 0.9 ** hvd.size()) * v)" in text


def test_an_average_that_a_test_leaves_out_beside_a_step() -> None:
    source = (
        BESIDE.format(test="len(held) > 4").replace("            train(x)\n", "            pass\n")
        + "        train(x)\n"
    )
    assert "s.assign(0.9 * s + 0.1 * v)" in plan_of(HEAD + source).text
