"""S2: variables that a graph moves on by the rows of a step, without an optimizer."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of, refused

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
    ("moved", "kept"),
    [
        ("tf.assign_add(k, error)", "tf.assign_add(k, hvd.allreduce(error * hvd.size()))"),
        ("k.assign_sub(0.1 * error)", "k.assign_sub(hvd.allreduce(0.1 * error * hvd.size()))"),
        ("k.assign(k + 0.001 * error)", "k.assign(hvd.allreduce(k + 0.001 * error * hvd.size()))"),
        (
            "tf.assign(k, tf.clip_by_value(k + 0.001 * error, 0, 1))",
            "tf.assign(k, hvd.allreduce(tf.clip_by_value(k + 0.001 * error * hvd.size(), 0, 1)))",
        ),
        (
            "tf.assign(k, tf.minimum(tf.add(k, error), 1.0))",
            "tf.assign(k, hvd.allreduce(tf.minimum(tf.add(k, error * hvd.size()), 1.0)))",
        ),
    ],
)
def test_one_number_that_the_loss_is_made_with_is_averaged_and_moves_as_far(moved: str, kept: str) -> None:
    (doubt,) = asked(moved)
    assert "now it is the mean over all ranks" in doubt
    assert kept in plan_of(HEAD.format("error * k", moved)).text


@pytest.mark.parametrize("moved", ["tf.scatter_sub(k, ids, error)", "tf.scatter_nd_add(k, ids, error)"])
def test_what_else_the_loss_is_made_with_is_asked_about(moved: str) -> None:
    (doubt,) = asked(moved)
    assert doubt.startswith("each rank moves `k` on by its own rows")


def test_a_number_that_some_ranks_set_is_asked_about() -> None:
    """A collective that a rank comes to by its own rows would wait for the others."""
    program = HEAD.format("error * k", "tf.assign_add(k, error)")
    by_rows = "sess.run(train, {x: a})\n    if a.mean() > 0:\n        sess.run(moved, {x: a})"
    (doubt,) = doubts(plan_of(program.replace("sess.run([train, moved], {x: a})", by_rows)), "S2")
    assert doubt.startswith("each rank moves `k` on by its own rows")


FED = """\
import numpy as np
import tensorflow as tf
rows = np.load("x.npy")
x = tf.placeholder(tf.float32, [None, 4])
weight = tf.placeholder(tf.float32{shape})
k = tf.Variable(0.0, trainable=False)
set_k = k.assign(weight)
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1))) * {used}
train = tf.train.AdamOptimizer(0.01).minimize(loss)
w = 0.0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(0, len(rows), 32):
        found, _ = sess.run([loss, train], {{x: rows[i : i + 32]{fed}}})
        {more}
"""


@pytest.mark.parametrize("shape", ["", ", []"])
def test_a_number_that_a_session_is_fed_moves_as_far_and_is_no_networks_state(shape: str) -> None:
    """The batches were not divided, as if the loss before were what a recurrent network goes on from."""
    text = plan_of(
        FED.format(shape=shape, used="weight", fed=", weight: w", more="w = min(1.0, w + 0.01 * found)")
    ).text
    assert "for i in shard(range(0, len(rows), 32)):" in text
    assert "w = mean_over_ranks(min(1.0, w + 0.01 * found * hvd.size()))" in text


def test_a_number_that_a_variable_is_set_to_is_averaged() -> None:
    more = "w = max(0.0, w - 0.01 * found)\n        sess.run(set_k, {{weight: w}})".replace(
        "{{", "{"
    ).replace("}}", "}")
    text = plan_of(FED.format(shape=", []", used="k", fed="", more=more)).text
    assert "w = mean_over_ranks(max(0.0, w - 0.01 * found * hvd.size()))" in text


def test_an_average_that_a_session_is_fed_forgets_as_fast() -> None:
    more = "w = 0.9 * w + 0.1 * found"
    text = plan_of(FED.format(shape=", []", used="weight", fed=", weight: w", more=more)).text
    assert "0.9 ** hvd.size() * w + (1 - 0.9 ** hvd.size()) * found" in text


def test_what_a_session_gave_is_averaged_where_it_is_fed_next() -> None:
    program = FED.format(shape=", []", used="weight", fed=", weight: w", more="pass")
    text = plan_of(program.replace("found, _ = ", "w, _ = ")).text
    assert "for i in shard(range(0, len(rows), 32)):" in text
    assert "        w = mean_over_ranks(w)\n" in text


def test_a_number_that_a_session_computes_of_no_rows_stays() -> None:
    program = FED.format(shape=", []", used="k", fed="", more="w = sess.run(set_k, {weight: w})")
    assert doubts(plan_of(program), "G2") == []


def test_a_number_that_is_only_shown_stays() -> None:
    more = "w = w + found\n        print(w)"
    assert "w = w + found\n" in plan_of(FED.format(shape=", []", used="2.0", fed="", more=more)).text


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
