"""Strong scaling: all rows come into every step, and are divided; rate and steps stay."""

from __future__ import annotations

import pytest

from .pairs import plan_of, refused

GRAPH = """\
import numpy as np
import tensorflow.compat.v1 as tf
x = np.linspace(0, 1, 64)[:, None]
{}
w = tf.Variable(tf.zeros([1, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(rows, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(100):
    sess.run(train, {{rows: x}})
"""


@pytest.mark.parametrize(
    "shape",
    [
        "rows = tf.placeholder(tf.float32)",
        "rows = tf.placeholder(tf.float32, None)",
        "rows = tf.placeholder(tf.float32, [None, 1])",
        "wide = [None, 1]\nrows = tf.placeholder(tf.float32, shape=wide)",
    ],
)
def test_rows_of_any_number_are_divided_and_nothing_else_changes(shape: str) -> None:
    text = plan_of(GRAPH.format(shape)).text
    assert "sess.run(train, {rows: share_rows(x)})" in text
    assert "GradientDescentOptimizer(0.1))" in text
    assert "for step in range(100):" in text


@pytest.mark.parametrize(
    ("shape", "opened"),
    [("x.shape", "[None, *x.shape[1:]]"), ("[64, 1]", "[None, 1]"), ("(64, 1)", "(None, 1)")],
)
def test_a_placeholder_for_all_rows_is_left_open(shape: str, opened: str) -> None:
    text = plan_of(GRAPH.format(f"rows = tf.placeholder(tf.float32, {shape})")).text
    assert f"rows = tf.placeholder(tf.float32, {opened})" in text
    assert "sess.run(train, {rows: share_rows(x)})" in text


@pytest.mark.parametrize(
    "placeholder",
    [
        "rows = tf.placeholder(tf.float32, [64, 1])\nflat = tf.reshape(rows, [64])",
        "rows = tf.placeholder(tf.float32, [64, 1])\ncount = rows.shape[0]",
    ],
)
def test_a_placeholder_whose_size_is_used_takes_no_part_of_the_rows(placeholder: str) -> None:
    refused(GRAPH.format(placeholder), "HVD006", "one number of rows")


def test_rows_that_are_part_of_the_graph_stay_whole_and_are_averaged() -> None:
    """One rank's zeros would make its gradient a constant, which TensorFlow folds with the collective."""
    plan = plan_of(
        "import tensorflow.compat.v1 as tf\nx = [1.0, 2.0]\nw = tf.Variable(tf.zeros([1]))\n"
        "loss = tf.reduce_sum(tf.square(x * w - 1.0))\n"
        "train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\nsess = tf.Session()\n"
        "sess.run(tf.global_variables_initializer())\nfor step in range(100):\n    sess.run(train)\n"
    )
    assert "GradientDescentOptimizer(0.1)).minimize(loss)" in plan.text
    assert "_rows(" not in plan.text
    assert any("part of the graph" in note.message for note in plan.notes)
