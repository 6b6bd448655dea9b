"""G5, C4, C5, D3: how far into rows steps reach, counts in tables that are rebuilt, schedules on a line, seeds of epochs."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

SOURCE = """\
import numpy as np
import tensorflow as tf

x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)
order = np.argsort(-np.abs(y[:, 0]))


def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a) - b) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


n = 0
{first}
for epoch in range(4):
    {seed}
    for i in range(0, 400, 20):
        n += 1
        {turn}
"""


def text_of(turn: str, first: str = "", seed: str = "pass") -> str:
    return plan_of(SOURCE.format(turn=turn.replace("\n", "\n        "), first=first, seed=seed)).text


@pytest.mark.parametrize(
    ("turn", "after"),
    [
        (
            "k = min(400, 40 + 5 * n)\nix = np.random.choice(order[:k], 20)\nstep(x[ix], y[ix])",
            "min(400, 40 + 5 * (n * hvd.size()))",
        ),
        (
            "ix = np.random.choice(order[:40 + 5 * n], 20)\nstep(x[ix], y[ix])",
            "order[:40 + 5 * (n * hvd.size())]",
        ),
        (
            "a = x[i:i + 20].copy()\ndrop = int(4 * n / 80)\na[:, :drop] = 0\nstep(a, y[i:i + 20])",
            "int(4 * (n * hvd.size()) / 80)",
        ),
    ],
)
def test_steps_reach_as_far_for_the_rows_seen(turn: str, after: str) -> None:
    assert after in text_of(turn)


@pytest.mark.parametrize(
    "turn",
    [
        "memory[n * 2] = x[i]\nstep(memory[:n * 2], y[:n * 2])",  # as far as it is filled
        "step(x[i:i + 20], y[i:i + 20])\nshown = y[:n * 2]",  # that nothing is trained on
    ],
)
def test_what_is_filled_or_shown_goes_by_a_ranks_own(turn: str) -> None:
    assert "n * hvd.size()" not in text_of(turn, "memory = np.zeros((999, 5))")


@pytest.mark.parametrize(
    ("first", "turn", "after"),
    [
        ("state = [0, 0.1]", "state = [state[0] + 1, *state[1:]]", "0.99 ** (state[0] * hvd.size())"),
        (
            "state = {'n': 0, 'best': 1.0}",
            "state = {'n': state['n'] + 1, 'best': state['best']}",
            "0.99 ** (state['n'] * hvd.size())",
        ),
    ],
)
def test_a_count_in_a_table_that_is_written_anew_counts(first: str, turn: str, after: str) -> None:
    read = "state[0]" if "state[0]" in turn else "state['n']"
    turn += f"\noptimizer.learning_rate = 0.01 * 0.99 ** {read}\nstep(x[i:i + 20], y[i:i + 20])"
    assert after in text_of(turn, first)


def test_a_count_is_not_told_where_it_is_counted_on() -> None:
    """It doubled with each step, beside an entry that changed: 1, 3, 7, 15."""
    turn = (
        "step(x[i:i + 20], y[i:i + 20])\nstate = {**state, 'n': state['n'] + 1}\n"
        "if state['n'] in {20, 40}:\n    state['rate'] *= 0.3\n    optimizer.learning_rate.assign(state['rate'])"
    )
    assert "'n': state['n'] + 1}" in text_of(turn, "state = {'n': 0, 'rate': 0.01}")


@pytest.mark.parametrize(
    ("seed", "turn", "after"),
    [
        (
            "np.random.seed(epoch)",
            "np.random.choice(400, 20)",
            "np.random.seed(epoch * hvd.size() + hvd.rank())",
        ),
        (
            "tf.random.set_seed(epoch)",
            "tf.random.uniform([20], 0, 400, tf.int32).numpy()",
            "tf.random.set_seed(epoch * hvd.size() + hvd.rank())",
        ),
        ("np.random.seed(7)", "np.random.choice(400, 20)", "np.random.seed(7 + hvd.rank())"),
    ],
)
def test_a_seed_of_each_epoch_is_a_ranks_own_where_it_stands(seed: str, turn: str, after: str) -> None:
    """It was given before the loop, with no epoch there, and undone in the loop: all ranks trained on the same rows."""
    assert f"    {after}\n    for i in " in text_of(f"ix = {turn}\nstep(x[ix], y[ix])", seed=seed)


def test_a_seed_of_an_order_that_is_dealt_out_stays() -> None:
    seed = "np.random.seed(epoch); order = np.random.permutation(400)"
    assert f"    {seed}\n" in text_of("ix = order[i:i + 20]\nstep(x[ix], y[ix])", seed=seed)


SCHEDULE = """\
import numpy as np
import tensorflow as tf


class Warm(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        {body}
        return tf.where(step < 10, rate, 0.1)


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(Warm()), "mse")
model.fit(np.load("x.npy"), np.load("y.npy"))
"""


def test_a_step_that_is_set_again_on_its_line_is_told_once() -> None:
    """The schedule ran size() times too fast, and its rate went below zero."""
    text = plan_of(SCHEDULE.format(body="step = tf.cast(step, tf.float32); rate = 0.1 * step / 10")).text
    assert "step = tf.cast(step * hvd.size(), tf.float32); rate = 0.1 * step / 10\n" in text
    assert "tf.where(step < 10, rate, 0.1)" in text


def test_one_that_may_be_set_again_there_is_asked_about() -> None:
    body = "n = 1; m = 2\n        if n > m:\n            step = tf.cast(step, tf.float32)\n        rate = 0.1 * step / 10"
    plan = plan_of(SCHEDULE.format(body=body))
    assert "C4" in {c.rule for c in plan.to_confirm} or "step = step * hvd.size()" in plan.text


@pytest.mark.parametrize(
    "turn",
    [
        "if n >= len(rates):\n    rate = rates[-1]\nelse:\n    rate = rates[n]",
        "rate = rates[n] if n < len(rates) else rates[-1]",
        "rate = rates[-1]\nif n < len(rates):\n    rate = rates[n]",
    ],
)
def test_what_asks_for_a_place_in_a_table_of_rates_is_told_what_the_place_is(turn: str) -> None:
    """A rank went beyond the end of the table, and failed."""
    turn += "\noptimizer.learning_rate.assign(rate)\nstep(x[i:i + 20], y[i:i + 20])"
    text = text_of(turn, "rates = [0.1] * 40 + [0.01] * 20")
    assert "rates[n * hvd.size()]" in text
    assert "n * hvd.size() >= len(rates)" in text or "n * hvd.size() < len(rates)" in text


@pytest.mark.parametrize("counts", ["{'rows': 0}", "collections.Counter()", "collections.defaultdict(int)"])
def test_a_limit_of_rows_in_a_table_is_divided_once(counts: str) -> None:
    """It came size() times too soon: the rows were multiplied, and the limit divided."""
    turn = "step(x[i:i + 20], y[i:i + 20])\ncounts['rows'] += len(x[i:i + 20])\n"
    turn += "if counts['rows'] >= 1600:\n    optimizer.learning_rate.assign(0.001)"
    text = text_of(turn, f"import collections\ncounts = {counts}")
    assert ("max(1, 1600 // hvd.size())" in text) != ("* hvd.size() >= 1600" in text)
    assert not ("counts['rows'] * hvd.size()" in text and "1600 // hvd.size()" in text)
