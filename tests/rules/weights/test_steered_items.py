"""G2, G7: items of a dictionary that follow the losses, and that later losses are made with, as names that do."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import numpy as np
import tensorflow as tf
ds = tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
state = {{"k": {begins}, "shown": 0.0}}
for epoch in range(3):
    seen, total, n = [], 0.0, 0
    for x in ds:
        with tf.GradientTape() as tape:
            a = tf.reduce_mean(model(x) ** 2)
            loss = a * {used}
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.append(float(a))
        {more}
    {after}
"""


def text(more: str = "pass", after: str = "pass", begins: str = "0.0", used: str = 'state["k"]') -> str:
    return plan_of(PROGRAM.format(begins=begins, used=used, more=more, after=after)).text


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        (
            'state["k"] = 0.9 * state["k"] + 0.1 * float(a)',
            'state["k"] = mean_over_ranks(0.9 ** hvd.size() * state["k"] + (1 - 0.9 ** hvd.size()) * float(a))',
        ),
        (
            'state["k"] = max(0.0, state["k"] + 0.01 * (float(a) - 0.5))',
            'state["k"] = mean_over_ranks(max(0.0, state["k"] + 0.01 * (float(a) - 0.5) * hvd.size()))',
        ),
    ],
)
def test_an_item_that_follows_the_losses_is_averaged_and_follows_as_fast(more: str, kept: str) -> None:
    """Each rank had its own, in silence, where a name was averaged."""
    assert kept in text(more)


def test_an_item_that_is_set_after_an_epoch_is_averaged() -> None:
    after = 'state["k"] = 1.0 / np.mean(seen)'
    assert 'state["k"] = 1.0 / mean_over_ranks(np.mean(seen))' in text(after=after, begins="1.0")


@pytest.mark.parametrize(
    "more",
    [
        'state["shown"] = 0.9 * state["shown"] + 0.1 * float(a)',  # no loss is made with it
        'state["k"] = state["k"] * 0.99',  # by no rows, beside an item that may be
    ],
)
def test_other_items_are_left(more: str) -> None:
    assert "mean_over_ranks" not in text(more)


def test_a_sum_that_a_mean_is_made_of_counts_what_a_rank_has() -> None:
    """`total / n`, with an `n` of a rank's steps: a sum of all ranks' would be size() times the mean."""
    more, after = "total += float(a)\n        n += 1", 'state["k"] = 1.0 / (total / n)'
    assert "* hvd.size()" not in text(more, after, begins="1.0").split("total += ")[1].splitlines()[0]
