"""K3: callbacks that are picked at run time: those that write files are left to rank 0 by their class."""

from __future__ import annotations

import types
from typing import Any

import pytest

from .pairs import plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import CSVLogger, EarlyStopping
x, y = np.load('x.npy'), np.load('y.npy')
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
"""
REGISTRY = """\
known = {}
def register(name):
    def add(function):
        known[name] = function
        return function
    return add
@register('csv')
def csv(path):
    return CSVLogger(path)
@register('stop')
def stop(path):
    return EarlyStopping()
"""
KNOWN = "known = {'csv': CSVLogger('a.csv'), 'stop': EarlyStopping()}\n"
FIT = "model.fit(x, y, batch_size=10, callbacks={})\n"


def text_of(code: str) -> str:
    return plan_of(HEAD + code).text


@pytest.mark.parametrize(
    ("code", "passed"),
    [
        (
            KNOWN + FIT.format("[known[n] for n in ('csv', 'stop')]"),
            "*own_callbacks([known[n] for n in ('csv', 'stop')])",
        ),
        (
            REGISTRY + FIT.format("[known[n]('a') for n in ('csv',)]"),
            "*own_callbacks([known[n]('a') for n in ('csv',)])",
        ),
        (KNOWN + FIT.format("[EarlyStopping(), known['c' + 'sv']]"), "*own_callbacks([known['c' + 'sv']])"),
        (
            KNOWN + FIT.format("[EarlyStopping(), *map(known.get, ('csv',))]"),
            "*own_callbacks(map(known.get, ('csv',)))",
        ),
        (KNOWN + "mine = [known[n] for n in ('csv', 'stop')]\n" + FIT.format("mine"), "*own_callbacks(mine)"),
        (
            FIT.format("[getattr(tf.keras.callbacks, n)('a') for n in ('CSVLogger',)]"),
            "*own_callbacks([getattr(tf.keras.callbacks, n)('a') for n in ('CSVLogger',)])",
        ),
        (  # as often as there are fits
            KNOWN + "mine = [known[n] for n in ('csv', 'stop')]\n" + FIT.format("mine") * 2,
            "*own_callbacks(mine)",
        ),
    ],
)
def test_writers_are_left_out_by_their_class(code: str, passed: str) -> None:
    text = text_of(code).replace("+= own", "*own")
    assert text.count(passed) == code.count("model.fit")
    assert text.count("def own_callbacks(") == 1


@pytest.mark.parametrize(
    "code",
    [
        FIT.format("[EarlyStopping(), CSVLogger('a.csv')]"),  # all is seen
        FIT.format("[make(n) for n in ('a', 'b')]").replace(
            "model", "from mine import make\nmodel", 1
        ),  # no writer here
        "csv = CSVLogger('a.csv')\nmine = [EarlyStopping()]\nmine.append(csv)\n" + FIT.format("mine"),
        "class Own(tf.keras.callbacks.Callback):\n    pass\n" + FIT.format("[Own(), CSVLogger('a.csv')]"),
        "def csv():\n    return CSVLogger('a.csv')\n" + FIT.format("[csv(), EarlyStopping()]"),
        FIT.format("None"),
    ],
)
def test_where_each_is_seen_nothing_is_asked_at_run_time(code: str) -> None:
    assert "own_callbacks" not in text_of(code)


@pytest.mark.parametrize(("rank", "left"), [(0, ["csv", "checkpoint", "stop"]), (1, ["stop"])])
def test_what_is_left_out(rank: int, left: list[str]) -> None:
    text = text_of(KNOWN + FIT.format("[known[n] for n in ('csv', 'stop')]"))
    lines = text[text.index("def own_callbacks") :].split("\n\n")[0]
    classes = {
        name: type(name, (), {}) for name in ("CSVLogger", "ModelCheckpoint", "TensorBoard", "EarlyStopping")
    }
    keras = types.SimpleNamespace(callbacks=types.SimpleNamespace(**classes))
    names: dict[str, Any] = {
        "tf": types.SimpleNamespace(keras=keras),
        "hvd": types.SimpleNamespace(rank=lambda: rank),
    }
    exec(lines, names)
    own = type("Own", (classes["ModelCheckpoint"],), {})  # a class of the program's own
    given = {"csv": classes["CSVLogger"](), "checkpoint": own(), "stop": classes["EarlyStopping"]()}
    kept = names["own_callbacks"](given.values())
    assert [name for name, one in given.items() if one in kept] == left
    assert names["own_callbacks"](None) == []
