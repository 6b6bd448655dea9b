"""G7: numbers that each step moves on by what it has measured, of programs that Keras trains step by step, and of variables."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

KERAS = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
k = {begins}
for i in range(1000):
    at = np.random.randint(0, len(x), 32)
    loss, other = model.train_on_batch([x[at], np.full((32, 1), {given})], x[at])
    {more}
"""
OF_BACKEND = "K.variable(0.0)"


def lines(more: str, begins: str = "0.0", given: str = "k") -> list[str]:
    text = plan_of(KERAS.format(begins=begins, given=given, more=more)).text
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("more", "moved"),
    [
        (
            "k = np.clip(k + 0.001 * (other - loss), 0, 1)",
            "k = mean_over_ranks(np.clip(k + 0.001 * (other - loss) * hvd.size(), 0, 1))",
        ),
        ("k += 0.1 * loss", "k += mean_over_ranks(0.1 * loss * hvd.size())"),
        ("k = max(0.0, k - loss)", "k = mean_over_ranks(max(0.0, k - loss * hvd.size()))"),
        ("k = k + loss / 10", "k = k + mean_over_ranks(loss / 10 * hvd.size())"),
        ("k = k * np.exp(0.1 * loss)", "k = k * np.exp(mean_over_ranks(0.1 * loss * hvd.size()))"),
        ("k /= np.exp(0.1 * loss)", "k /= np.exp(mean_over_ranks(0.1 * loss * hvd.size()))"),
        (
            "k = np.clip(np.exp(0.1 * loss) * k, 0.1, 10)",
            "k = mean_over_ranks(np.clip(np.exp(0.1 * loss * hvd.size()) * k, 0.1, 10))",
        ),
    ],
)
def test_a_number_that_keras_is_given_with_its_rows_moves_as_far(more: str, moved: str) -> None:
    assert moved in lines(more)


def test_a_variable_of_kerass_backend_moves_as_far() -> None:
    """The balance of a BEGAN: each rank had one of its own, and it moved size() times more slowly."""
    next_one = "np.clip(K.get_value(k) + 0.001 * (other - loss), 0, 1)"
    scaled = next_one.replace("(other - loss)", "(other - loss) * hvd.size()")
    given = "K.get_value(k)"
    assert f"K.set_value(k, mean_over_ranks({scaled}))" in lines(
        f"K.set_value(k, {next_one})", OF_BACKEND, given
    )
    named = lines(f"new = {next_one}\n    K.set_value(k, new)", OF_BACKEND, given)
    assert f"new = {scaled}" in named
    assert "K.set_value(k, mean_over_ranks(new))" in named


@pytest.mark.parametrize(
    ("more", "begins", "given"),
    [
        ("pass\nk += loss", "0.0", "k"),  # once, after all steps
        ("k += 0.01", "0.0", "1"),  # given to no step
        ("K.set_value(k, 0.5)", OF_BACKEND, "1"),  # by no rows
        ("K.set_value(model.optimizer.lr, loss / 9)", "0.0", "1"),  # a rate, which is rank 0's already
    ],
)
def test_what_no_step_moves_by_its_rows_stays(more: str, begins: str, given: str) -> None:
    assert more.splitlines()[-1].strip().split("(")[0] in "\n".join(lines(more, begins, given))
    assert not any("mean_over_ranks(" in line and "def " not in line for line in lines(more, begins, given))


def test_what_comes_nearer_to_something_is_an_average() -> None:
    moved = lines("k = k + 0.01 * (loss - k)")
    assert "k = k + mean_over_ranks((1 - (1 - 0.01) ** hvd.size()) * (loss - k))" in moved


@pytest.mark.parametrize("moved", ["k += {}", "k *= np.exp({})"])
def test_what_moves_once_an_epoch_moves_as_far_as_it_did(moved: str) -> None:
    source = KERAS.format(begins="0.0", given="k", more="pass")
    source = source.replace("for i in", "for epoch in range(9):\n  for i in").replace("\n    ", "\n      ")
    written = source + "  " + moved.format("0.1 * loss") + "\n"
    assert "  " + moved.format("mean_over_ranks(0.1 * loss)") in plan_of(written).text
