"""C5: a rate in a dictionary that optimizers are given whole is scaled there."""

from __future__ import annotations

import pytest

from ..pairs import plan_of, refused

PROGRAM = """\
import tensorflow as tf
{settings}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
{compiled}
model.fit(x, y)
"""
COMPILED = 'model.compile(tf.keras.optimizers.Adam(**settings), "mse")'


@pytest.mark.parametrize(
    ("settings", "scaled"),
    [
        (
            'settings = {"learning_rate": 1e-3, "beta_1": 0.0}',
            'settings = {"learning_rate": 1e-3 * hvd.size(), "beta_1": 0.0}',
        ),
        ("settings = dict(learning_rate=rate)", "settings = dict(learning_rate=rate * hvd.size())"),
    ],
)
def test_it_is_scaled_where_the_dictionary_is_written(settings: str, scaled: str) -> None:
    assert scaled in plan_of(PROGRAM.format(settings=settings, compiled=COMPILED)).text


def test_two_optimizers_share_one_that_is_scaled_once() -> None:
    second = "\nother = tf.keras.optimizers.Adam(**settings)"
    settings = 'settings = {"learning_rate": 1e-3}'
    text = plan_of(PROGRAM.format(settings=settings, compiled=COMPILED + second)).text
    assert 'settings = {"learning_rate": 1e-3 * hvd.size()}' in text


@pytest.mark.parametrize(
    "settings",
    [
        "settings = load_settings()",
        'settings = {"learning_rate": 1e-3}\nprint(settings["learning_rate"])',  # it serves something else, too
        'settings = {"learning_rate": 1e-3}\nif fast: settings = {"learning_rate": 1e-2}',
    ],
)
def test_what_is_not_seen_or_serves_something_else_is_not(settings: str) -> None:
    refused(PROGRAM.format(settings=settings, compiled=COMPILED), "HVD006", "learning rate")
