"""What a `fit` is given by `*` and `**`, as far as it is seen, is written out and divided, scaled and extended."""

from __future__ import annotations

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
x, y = np.ones((4000, 3)), np.ones((4000, 1))
train, test = (x[:3200], y[:3200]), (x[3200:], y[3200:])
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
"""
ASKED = "`**` may pass callbacks"


def test_rows_in_a_tuple_are_divided() -> None:
    """They stayed whole on every rank, at the rate of one."""
    plan = plan_of(HEAD + "model.fit(*train, epochs=3, validation_data=test)\n")
    assert "model.fit(train[0][share], train[1][share], epochs=3," in plan.text
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert [c.what for c in plan.changes if c.rule == "C8"] == ["Write out what `*` and `**` pass"]
    assert not [n for n in plan.notes if "can't be seen" in n.message]


def test_rows_that_a_function_is_given() -> None:
    plan = plan_of(HEAD + "def run(data):\n    model.fit(*data, epochs=3)\nrun(train)\nrun(test)\n")
    assert "model.fit(data[0][share], data[1][share], epochs=3" in plan.text


def test_the_data_sets_of_keras() -> None:
    load = "train, test = tf.keras.datasets.mnist.load_data()\n"
    plan = plan_of(HEAD + load + "model.fit(*train, epochs=3)\n")
    assert "model.fit(train[0][share], train[1][share], epochs=3" in plan.text


@pytest.mark.parametrize(
    "made",
    [
        "train = open_rows()\n",
        "train = (x, y) if model else (x,)\n",
        "rest = (y,)\ntrain = (x, *rest)\n",
        "train = (x, y, None, None)\n",
        "train = [x, y]\nif model:\n    train.append(w)\n",
        "train = (x, y)\ntrain += more\n",
    ],
)
def test_what_is_not_seen_stays(made: str) -> None:
    plan = plan_of(HEAD + made + "model.fit(*train, epochs=3)\n")
    assert "model.fit(*train, epochs=3" in plan.text
    assert "SGD(0.1)" in plan.text


@pytest.mark.parametrize(
    "made",
    [
        "settings = {'epochs': 3, 'steps_per_epoch': 100, 'callbacks': [tf.keras.callbacks.CSVLogger('l.csv')]}\n",
        "settings = dict(epochs=3, steps_per_epoch=100)\nsettings['callbacks'] = [tf.keras.callbacks.CSVLogger('l.csv')]\n",
    ],
)
def test_settings_in_a_dictionary(made: str) -> None:
    plan = plan_of(HEAD + made + "model.fit(x, y, **settings)\n")
    assert 'settings["steps_per_epoch"] // hvd.size()' in plan.text
    assert 'epochs=settings["epochs"], ' in plan.text
    assert '*(settings["callbacks"] or [])]' in plan.text
    assert "*([tf.keras.callbacks.CSVLogger('l.csv')] if hvd.rank() == 0 else [])" in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize(
    "made",
    [
        "settings = dict(epochs=3)\nsettings.update(more)\n",
        "settings = dict(epochs=3)\nif more:\n    settings['callbacks'] = []\n",
        "settings = dict(epochs=3, callbacks=[])\nsettings['callbacks'].append(tf.keras.callbacks.CSVLogger('l.csv'))\n",
        "settings = dict(epochs=3)\nadd_callbacks(settings)\n",
        "settings = dict(epochs=3, **more)\n",
        "settings = {'epochs': 3, **more}\n",
        "settings = {'epochs': 3, key: 4}\n",
        "settings = read_settings()\n",
    ],
)
def test_settings_that_may_hold_more_are_asked_about(made: str) -> None:
    plan = plan_of(HEAD + made + "model.fit(x, y, **settings)\n")
    assert "**settings" in plan.text
    assert any(ASKED in change.doubt for change in plan.to_confirm)


HANDED_ON = """\
def run(data, **more):
    return model.fit(*data, **more)
"""


def test_keywords_that_are_handed_on_and_change_nothing() -> None:
    plan = plan_of(HEAD + HANDED_ON + "run(train, epochs=3, batch_size=16)\nrun(data=train, epochs=1)\n")
    assert "model.fit(data[0][share], data[1][share], **more, callbacks=callbacks, verbose=" in plan.text
    assert not plan.to_confirm


@pytest.mark.parametrize(
    ("given", "taken", "left"),
    [
        ('[tf.keras.callbacks.CSVLogger("l.csv")]', 'more.pop("callbacks", [])', "[{}]"),
        ("mine", 'more.pop("callbacks", [])', "mine = [{}]"),
        ("mine if x.any() else None", 'more.pop("callbacks", None) or []', "mine = [{}]"),
    ],
)
def test_callbacks_that_are_handed_on_come_after_ours(given: str, taken: str, left: str) -> None:
    """The call failed: it got two values for `callbacks`."""
    mine = 'mine = [tf.keras.callbacks.CSVLogger("l.csv")]\n'
    plan = plan_of(HEAD + HANDED_ON + mine + f"run(train, epochs=3, callbacks={given})\nrun(train)\n")
    assert taken in plan.text
    assert "**more, callbacks=callbacks, verbose=1 if hvd.rank() == 0 else 0)" in plan.text
    root = '*([tf.keras.callbacks.CSVLogger("l.csv")] if hvd.rank() == 0 else [])'
    assert left.format(root) in plan.text
    assert not plan.to_confirm


def test_what_is_said_of_a_fit_may_be_handed_on_too() -> None:
    plan = plan_of(HEAD + HANDED_ON + "run(train, epochs=3, verbose=2)\n")
    assert "**more, callbacks=callbacks)" in plan.text


@pytest.mark.parametrize(
    "calls",
    [
        "run(train, epochs=3, callbacks=[])\nrun(train, steps_per_epoch=3)\n",
        "run(train, epochs=3)\nrun(train, steps_per_epoch=3)\n",
        "run(train, **settings)\n",
        "register(run)\n",
    ],
)
def test_others_are_asked_about(calls: str) -> None:
    plan = plan_of(HEAD + HANDED_ON + calls)
    assert any(ASKED in change.doubt for change in plan.to_confirm)


@pytest.mark.parametrize(
    "body",
    [
        "    for turn in range(3):\n        model.fit(*data, **more)\n",
        "    model.fit(*data, **more)\n    model.fit(*data, **more)\n",
        "    more.setdefault('callbacks', [])\n    model.fit(*data, **more)\n",
    ],
)
def test_so_are_those_that_are_handed_on_twice(body: str) -> None:
    plan = plan_of(HEAD + "def run(data, **more):\n" + body + "run(train, callbacks=[])\n")
    assert any(ASKED in change.doubt for change in plan.to_confirm)
    assert ".pop(" not in plan.text
