"""Findings about the order of a run: their fixes, what they say, and that distributing neither refuses nor asks for them."""

from __future__ import annotations

import ast

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.restrictions import check
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize
from tests.restrictions.helpers import fixed, violations

START = """\
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
v = tf.Variable(0.0)
session = tf.Session()
"""


def _applied(text: str, code: str, expected: str) -> None:
    result = fixed(START + text, code)
    assert result == START + expected
    ast.parse(result)
    assert violations(result, code) == []


def test_the_second_assignment_waits_for_the_first() -> None:
    _applied(
        "low = v.assign(1.0)\nhigh = tf.assign(\n    v,\n    2.0,\n)\nsession.run([low, high])\n",
        "HVD341",
        "low = v.assign(1.0)\nwith tf.control_dependencies([low]):\n    high = tf.assign(\n    v,\n    2.0,\n)\n"
        "session.run([low, high])\n",
    )


def test_an_assignment_waits_for_what_is_read() -> None:
    _applied(
        "double = v * 2.0\nreset = v.assign(0.0)\nsession.run([double, reset])\n",
        "HVD342",
        "double = v * 2.0\nwith tf.control_dependencies([double]):\n    reset = v.assign(0.0)\nsession.run([double, reset])\n",
    )


def test_clipping_waits_for_a_train_op_under_a_with_statement() -> None:
    train = (
        "ours = tf.trainable_variables()\nwith tf.name_scope('train'):\n"
        "    train = tf.train.AdamOptimizer(0.1).minimize(loss(), var_list=ours)\n"
    )
    clip = "clip = [w.assign(tf.clip_by_value(w, -1.0, 1.0)) for w in ours]\n"
    run = "session.run([train, clip])\n"
    _applied(
        f"{train}{clip}{run}", "HVD344", f"{train}with tf.control_dependencies([train]):\n    {clip}{run}"
    )


def test_a_train_op_does_not_wait_for_clipping() -> None:
    """Which of the two is to be first isn't known there; usually it's the step."""
    text = (
        "ours = tf.trainable_variables()\nclip = [w.assign(tf.clip_by_value(w, -1.0, 1.0)) for w in ours]\n"
        "train = tf.train.AdamOptimizer(0.1).minimize(loss(), var_list=ours)\nsession.run([train, clip])\n"
    )
    (violation,) = violations(START + text, "HVD344")
    assert violation.fixes == ()


def test_every_train_op_waits_for_the_updates() -> None:
    layer = "y = tf.layers.batch_normalization(x, training=mode)\n"
    one = "one = tf.train.AdamOptimizer(0.1).minimize(loss(y))\n"
    two = "two = tf.train.AdamOptimizer(0.1).minimize(other(y))\n"
    waits = "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):\n    "
    run = "session.run(one)\nsession.run(two)\n"
    _applied(f"{layer}{one}{two}{run}", "HVD343", f"{layer}{waits}{one}{waits}{two}{run}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("session.run([v.assign(1.0), v.assign(2.0)])\n", id="in the run itself"),
        pytest.param("a = v.assign(1.0); b = v.assign(2.0)\nsession.run([a, b])\n", id="on one line"),
        pytest.param("a = b = v.assign(1.0)\nc = v.assign(2.0)\nsession.run([a, c])\n", id="two names"),
        pytest.param("a, b = v.assign(1.0), v.assign(2.0)\nsession.run([a, b])\n", id="one statement"),
        pytest.param(
            "a = v.assign(1.0)\nfirst = a\na = None\nb = v.assign(2.0)\nsession.run([first, b])\n",
            id="the name means something else by then",
        ),
    ],
)
def test_no_fix_where_it_would_not_be_plain(text: str) -> None:
    (violation,) = violations(START + text, "HVD341")
    assert violation.fixes == ()


def test_the_message_says_both_outcomes() -> None:
    (violation,) = violations(START + "session.run([v.assign(1.0), v.assign(2.0)])\n", "HVD341")
    assert "`v` is 2 or 1 afterwards" in violation.message


def test_layers_that_always_train_are_information() -> None:
    text = (
        "y = tf.layers.batch_normalization(x, training=True)\n"
        "train = tf.train.AdamOptimizer(0.1).minimize(loss(y))\nsession.run(train)\n"
    )
    (violation,) = violations(START + text, "HVD343")
    assert violation.severity is Severity.INFORMATION


TRAINS = """\
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rows = np.random.rand(64, 4).astype("float32")
x = tf.placeholder(tf.float32, [None, 4])
w = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
clip = w.assign(tf.clip_by_value(w, -1.0, 1.0))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for epoch in range(3):
        for start in range(0, 64, 8):
            session.run([train, clip], {x: rows[start : start + 8]})
"""


def test_distributing_neither_refuses_nor_asks() -> None:
    summary = summarize(Document(TRAINS, "train.py"))
    assert "HVD344" in [v.code for v in check(summary, Options())]
    plan = distribute(summary, Options())
    assert isinstance(plan, Plan)
    assert [c.rule for c in plan.changes if c.rule.startswith("HVD34")] == []
