"""S2: variables that a graph moves on by the rows of a step, without an optimizer."""

from __future__ import annotations

import pytest

from .pairs import doubts, plan_of, refused

HEAD = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
rate = tf.placeholder(tf.float32, [])
w = tf.get_variable("w", [4, 1])
k = tf.Variable(0.0, trainable=False)
out = tf.matmul(x, w)
error = tf.reduce_mean(tf.square(out))
loss = {}
moved = {}
train = tf.train.AdamOptimizer(0.01).minimize(loss)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for a in batches():
    sess.run([train, moved], {{x: a}})
"""


def asked(moved: str, loss: str = "error - k * tf.reduce_mean(out)") -> list[str]:
    return doubts(plan_of(HEAD.format(loss, moved)), "S2")


@pytest.mark.parametrize(
    "moved",
    [
        "tf.assign_add(k, 1.0)",  # counts
        "k.assign(k + rate)",
        "k.assign(rate)",
        "k.assign(k * 0.9)",
        "k.assign(error)",  # forgets what it was
        "k.assign(0.9 * k + 0.1 * error)",  # said elsewhere
        "tf.assign(tf.Variable(0.0), error)",
    ],
)
def test_what_goes_on_by_no_rows_is_left(moved: str) -> None:
    assert asked(moved) == []


def test_sums_that_no_loss_looks_at_are_left() -> None:
    assert asked("tf.assign_add(k, error)", "error") == []
    assert asked("tf.assign_add(tf.Variable(0.0), error)", "error") == []


@pytest.mark.parametrize(
    "moved",
    [
        "tf.assign_add(k, error)",
        "k.assign_sub(0.1 * error)",
        "k.assign(k + 0.001 * error)",
        "tf.assign(k, tf.clip_by_value(k + 0.001 * error, 0, 1))",
        "tf.assign(k, tf.minimum(tf.add(k, error), 1.0))",
        "tf.scatter_sub(k, ids, error)",
        "tf.scatter_nd_add(k, ids, error)",
    ],
)
def test_what_the_loss_is_made_with_is_asked_about(moved: str) -> None:
    (doubt,) = asked(moved)
    assert doubt.startswith("each rank moves `k` on by its own rows")


@pytest.mark.parametrize(
    "moved",
    [
        "w.assign_add(tf.matmul(tf.transpose(x), out))",
        "w.assign(w + tf.reduce_mean(x, 0))",
        "tf.assign_add(w, out)",
    ],
)
def test_what_is_trained_so_is_refused(moved: str) -> None:
    refused(HEAD.format("error", moved), "HVD006", "by each rank's own rows")


def test_an_iterators_rows_are_rows() -> None:
    program = HEAD.replace(
        "x = tf.placeholder(tf.float32, [None, 4])", "x = data.make_one_shot_iterator().get_next()"
    )
    program = "data = load()\n" + program.replace("{{x: a}}", "{{}}").replace(
        "for a in batches():", "for i in range(100):"
    )
    assert doubts(plan_of(program.format("error * k", "tf.assign_add(k, error)")), "S2")


GATHERED = """\
import numpy as np
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
opt = tf.train.GradientDescentOptimizer(0.1)
pairs = {pairs}
gathered = [tf.Variable(tf.zeros_like(v), trainable=False) for _, v in pairs]
clear = [a.assign(tf.zeros_like(a)) for a in gathered]
add = {add}
train = opt.apply_gradients([(a / 4, v) for a, (_, v) in zip(gathered, pairs)])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(200):
        sess.run(clear)
        for _ in range(4):
            sess.run(add, {{x: rows[np.random.randint(0, 800, 16)]}})
        sess.run(train)
"""


@pytest.mark.parametrize(
    "pairs",
    [
        "opt.compute_gradients(loss)",
        "list(zip(tf.gradients(loss, tf.trainable_variables()), tf.trainable_variables()))",
    ],
)
@pytest.mark.parametrize(
    "add",
    [
        "[a.assign_add(g) for a, (g, _) in zip(gathered, pairs)]",
        "[gathered[i].assign_add(g) for i, (g, _) in enumerate(pairs)]",
    ],
)
def test_variables_that_gather_gradients_go_on_by_as_much_as_alone(pairs: str, add: str) -> None:
    """They were multiplied by size() beside the rate, and asked about."""
    plan = plan_of(GATHERED.format(pairs=pairs, add=add))
    assert f"add = {add}\n" in plan.text
    assert "for step in range(200 // hvd.size()):" in plan.text
    assert all(change.sure for change in plan.changes)
