"""Where optimizers come from, and where following them ends."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import facts_of
from horovodize.source import Document
from horovodize.summary import summarize


def arrivals(text: str) -> list[str]:
    """Where following the last expression that is a statement ends, as text."""
    summary = summarize(
        Document("import tensorflow as tf\nfrom tensorflow.keras import optimizers as o\n" + text)
    )
    assert summary.module is not None
    uses = list(summary.module.syntax.every(ast.Expr))
    assert isinstance(uses[-1], ast.Expr)
    ends = facts_of(summary).optimizers.arrivals(uses[-1].value)
    return [ast.unparse(end.node) for end in ends]


# ---------------------------------------------------------------------- where it ends: more may be in there than is seen


@pytest.mark.parametrize(
    "text",
    [
        "opts = {'a': o.SGD(0.1)}\nopts.update(more())\nopts[name]\n",
        "opts = {'a': o.SGD(0.1), **more}\nopts[name]\n",
        "opts = dict(pairs)\nopts[name]\n",
        "opts = {'a': o.SGD(0.1)}\nfill(opts)\nopts[name]\n",
        "opts = {'a': o.SGD(0.1)}\nholder = [opts]\nopts[name]\n",
        "opts = [o.SGD(0.1)]\nopts.extend(more)\nopts[i]\n",
        "opts = [o.SGD(0.1), *more]\nopts[i]\n",
        "opts = load()\nopts['a']\n",
        "opts = {}\nopts['a']\n",
        "opts = {'a': [o.SGD(0.1)]}\nopts['a'][1:]\n",
    ],
)
def test_what_somebody_else_may_fill_is_not_followed(text: str) -> None:
    assert arrivals(text) == [text.splitlines()[-1]]


# ---------------------------------------------------------------------- what this file fills


@pytest.mark.parametrize(
    "text",
    [
        "opts = {'a': o.SGD(1), 'b': o.Adam(2)}\nopts[name]\n",
        "opts = dict(a=o.SGD(1), b=o.Adam(2))\nopts[name]\n",
        "opts = {}\nopts['a'] = o.SGD(1)\nopts[other] = o.Adam(2)\nopts[name]\n",
        "opts = {'a': o.SGD(1)}\nopts.setdefault('b', o.Adam(2))\nopts[name]\n",
        "opts = {'a': o.SGD(1)}\nopts.get(name, o.Adam(2))\n",
        "opts = []\nopts.append(o.SGD(1))\nopts.append(o.Adam(2))\nopts[i]\n",
        "opts = [o.SGD(1), o.Adam(2)]\nopts[i]\n",
        "class T:\n    def __init__(self):\n        self.opts = {'a': o.SGD(1), 'b': o.Adam(2)}\n"
        "    def step(self, name):\n        self.opts[name]\n",
        "def made():\n    return {'a': o.SGD(1), 'b': o.Adam(2)}\nopts = made()\nopts[name]\n",
        "opts = {'a': o.SGD(1), 'b': o.Adam(2)}\nprint(len(opts))\nfor name in opts:\n    opts[name]\n",
        "opts = {'a': o.SGD(1), 'b': o.Adam(2)}\nfor opt in opts.values():\n    opt\n",
        "opts = {'a': o.SGD(1), 'b': o.Adam(2)}\nfor name, opt in opts.items():\n    opt\n",
    ],
)
def test_a_container_that_this_file_fills(text: str) -> None:
    assert sorted(arrivals(text)) == ["o.Adam(2)", "o.SGD(1)"]


def test_one_of_a_key_that_is_written_out() -> None:
    assert arrivals("opts = {}\nopts['a'] = o.SGD(1)\nopts['b'] = o.Adam(2)\nopts['b']\n") == ["o.Adam(2)"]


def test_one_construction_fills_it_in_a_loop() -> None:
    assert arrivals("opts = {n: o.SGD(1) for n in names}\nopts[name]\n") == ["o.SGD(1)"]
    assert arrivals("opts = {}\nfor n in names:\n    opts[n] = o.SGD(1)\nopts[name]\n") == ["o.SGD(1)"]


def test_an_optimizer_around_another_one() -> None:
    text = "opt = tf.keras.mixed_precision.LossScaleOptimizer(o.SGD(1))\nopt\n"
    assert arrivals(text) == ["o.SGD(1)"]


# ---------------------------------------------------------------------- functions of which one is picked by a key

MADE = "def adam(rate):\n    return o.Adam(rate)\ndef sgd(rate):\n    return o.SGD(rate)\n"


@pytest.mark.parametrize(
    "text",
    [
        "made = {'adam': adam, 'sgd': sgd}\nmade[name](0.1)\n",
        "made = dict(adam=adam, sgd=sgd)\nmade.get(name)(rate=args.rate)\n",
        "made = {}\nmade['adam'] = adam\nmade['sgd'] = sgd\nopt = made[name](args.rate * 2)\nopt\n",
    ],
)
def test_the_optimizer_of_a_function_that_is_picked(text: str) -> None:
    assert set(arrivals(MADE + text)) == {"o.Adam(rate)", "o.SGD(rate)"}


@pytest.mark.parametrize(
    "text",
    [
        "made = {'adam': adam, **more}\nmade[name](0.1)\n",
        "made = {'adam': adam, 'other': elsewhere.sgd}\nmade[name](0.1)\n",
        "made = {'adam': adam, 'sgd': sgd}\nmade[name](o.schedules.ExponentialDecay(0.1, 100, 0.9))\n",
        "class Rate:\n    pass\nmade = {'adam': adam, 'sgd': sgd}\nmade[name](Rate())\n",
    ],
)
def test_where_another_function_or_a_schedule_may_come_it_is_not_followed(text: str) -> None:
    assert arrivals(MADE + text) == [text.splitlines()[-1]]
