"""C5, G5: numbers that a dictionary holds and steps change, also in functions that are handed it, and numbers that functions
give back for those that they were handed."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x = np.random.RandomState(0).rand(256, 4).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.Adam(1e-3)
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(256).batch(16)
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a) - b))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
LOOP = """\
for epoch in range(10):
    for a, b in ds:
        loss = train_step(a * {heat}, b)
        {tick}
        if {step} % 40 == 0:
            model.save_weights("w.h5")
            {event}
"""


def text_of(before: str, heat: str, tick: str, step: str, event: str = "pass") -> str:
    return plan_of(HEAD + before + LOOP.format(heat=heat, tick=tick, step=step, event=event)).text


COUNTED = "% max(1, 40 // hvd.size()) == 0"


def test_items_that_each_step_changes_go_by_the_steps_of_all_ranks() -> None:
    """The count was divided, and what shrinks beside it was left: it shrank size() times too slowly."""
    tick = 'state["step"] += 1\n        state["heat"] = max(0.1, state["heat"] * 0.99)'
    text = text_of('state = {"step": 0, "heat": 1.0}\n', 'state["heat"]', tick, 'state["step"]')
    assert 'state["heat"] = max(0.1, state["heat"] * 0.99 ** hvd.size())' in text
    assert f'if state["step"] {COUNTED}' in text


@pytest.mark.parametrize("named", ["state", "s"])
@pytest.mark.parametrize("shrinks", ['{}["heat"] *= 0.99', '{}["heat"] = {}["heat"] * 0.99'])
def test_they_do_so_in_a_function_that_is_handed_the_dictionary(named: str, shrinks: str) -> None:
    """Neither was seen, and nothing was said."""
    body = f'def tick({named}):\n    {named}["step"] += 1\n    {shrinks.format(named, named)}\n'
    begun = body + 'state = {"step": 0, "heat": 1.0}\n'
    text = text_of(begun, 'state["heat"]', "tick(state)", 'state["step"]')
    assert "0.99 ** hvd.size()" in text
    assert f'if state["step"] {COUNTED}' in text


def test_a_function_that_two_dictionaries_are_handed_to_counts_for_neither() -> None:
    """Near miss: which of them it is can't be said."""
    body = 'def tick(s):\n    s["step"] += 1\n    s["heat"] *= 0.99\nother = {"step": 0, "heat": 1.0}\n'
    text = text_of(
        body + 'state = {"step": 0, "heat": 1.0}\ntick(other)\n',
        'state["heat"]',
        "tick(state)",
        'state["step"]',
    )
    assert 'if state["step"] % 40 == 0' in text


@pytest.mark.parametrize(
    ("tick", "left"),
    [
        ('other["heat"] *= 0.99', 'other["heat"] *= 0.99\n'),  # another dictionary
        ('state["cold"] *= 0.99', 'state["cold"] *= 0.99\n'),  # another item
        ('state["heat"] = 1.0\n        state["heat"] *= 0.99', 'state["heat"] *= 0.99\n'),  # begins again
        (
            'if step == 3:\n            state["heat"] *= 0.99',
            'state["heat"] *= 0.99\n',
        ),  # not with each step
    ],
)
def test_what_is_no_item_that_each_step_changes_stays(tick: str, left: str) -> None:
    """Near misses."""
    begun = 'state = {"heat": 1.0, "cold": 1.0}\nother = {"heat": 1.0}\nstep = 0\n'
    assert left in text_of(begun, 'state["heat"]', tick + "\n        step += 1", "step")


def test_what_a_function_gives_back_for_what_it_was_handed_goes_on_as_fast() -> None:
    body = "def tick(step, heat):\n    return step + 1, max(0.1, heat * 0.99)\nstep, heat = 0, 1.0\n"
    text = text_of(body, "heat", "step, heat = tick(step, heat)", "step")
    assert "return step + 1, max(0.1, heat * 0.99 ** hvd.size())" in text
    assert f"if step {COUNTED}" in text


@pytest.mark.parametrize("tick", ["step, cold = tick(step, heat)", "step, heat = tick(step, 1.0)"])
def test_what_it_gives_back_for_something_else_stays(tick: str) -> None:
    """Near misses: not what it was handed."""
    body = "def tick(step, heat):\n    return step + 1, heat * 0.99\nstep, heat = 0, 1.0\n"
    assert "return step + 1, heat * 0.99\n" in text_of(body, "heat", tick, "step")


@pytest.mark.parametrize(
    "begun",
    ['sums = {"loss": 0.0}\n', "from collections import defaultdict\nsums = defaultdict(float)\n"],
)
def test_the_mean_of_a_sum_that_an_item_holds_is_over_a_ranks_steps(begun: str) -> None:
    """`sums["loss"] / 40` was shown, after 20 steps of each of two ranks: half of it."""
    event = 'print(sums["loss"] / 40)\n            sums["loss"] = 0.0'
    tick = 'step += 1\n        sums["loss"] += float(loss)'
    text = text_of(begun + "step = 0\n", "1.0", tick, "step", event)
    assert 'print(sums["loss"] / max(1, 40 // hvd.size()))' in text


def test_a_sum_of_another_item_is_no_mean_over_these_steps() -> None:
    """Near miss: it goes on from the beginning."""
    event = 'print(sums["all"] / 40)\n            sums["loss"] = 0.0'
    tick = 'step += 1\n        sums["loss"] += float(loss)\n        sums["all"] += float(loss)'
    text = text_of('sums = {"loss": 0.0, "all": 0.0}\nstep = 0\n', "1.0", tick, "step", event)
    assert 'print(sums["all"] / 40)' in text
