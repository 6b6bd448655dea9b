"""G5: numbers that tell which updates go with which, not when something comes: they stay as they are."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = """\
import tensorflow as tf
x, y = tf.ones((800, 4)), tf.ones((800, 1))
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(a, b, weight=1.0, verbose=False):
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_mean((model(a) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
n, k, w = {begin}, 5, 1.0
for i, (a, b) in enumerate(ds):
    {turn}
"""


def text(turn: str, begin: int = 0) -> str:
    return plan_of(HEAD.format(begin=begin, turn=turn.replace("\n", "\n    "))).text


@pytest.mark.parametrize(
    ("turn", "begin"),
    [
        ("step(a, b)\nn += 1\nif n == 5:\n    step(a, b, 2.0)\n    n = 0", 0),
        ("step(a, b)\nn += 1\nif n >= k:\n    n = 0\n    step(a, b, 2.0)", 0),
        ("step(a, b)\nn += 1\nif n < 5:\n    continue\nn = 0\nstep(a, b, 2.0)", 0),
        ("step(a, b)\nn += 1\nif n >= k:\n    step(a, b, 2.0)\n    w, n = 1.0, 0", 0),
        ("step(a, b)\nn -= 1\nif n == 0:\n    step(a, b, 2.0)\n    n = 5", 5),
        ("n += 1\nif n == 5:\n    step(a, b, 2.0)\n    n = 0\nelse:\n    step(a, b)", 0),
    ],
)
def test_a_count_that_begins_again_with_another_update(turn: str, begin: int) -> None:
    """Two ranks took every second step with another weight, alone every fifth."""
    distributed = text(turn, begin)
    assert all(f"    {line}\n" in distributed for line in turn.splitlines() if "n " in line)
    assert f"n, k, w = {begin}, 5, 1.0\n" in distributed


@pytest.mark.parametrize(
    ("turn", "divided"),
    [
        (
            "step(a, b)\nn += 1\nif n == 100:\n    model.save_weights('w')\n    n = 0",
            "if n == max(1, 100 // hvd.size())",
        ),
        (
            "step(a, b)\nn += 1\nif n == 10:\n    model.save_weights('w')\n    w, n = 1.0, 0",
            "if n == max(1, 10 // hvd.size())",
        ),
        ("step(a, b)\nn += 1\nif n == 10:\n    break", "if n == max(1, 10 // hvd.size()):"),
        (
            "n += 1\nif n == 5:\n    step(a, b)\n    n = 0\n    print(i)\nelse:\n    step(a, b)",
            "max(1, 5 // hvd.size()):",
        ),
    ],
)
def test_an_event_comes_after_as_many_rows(turn: str, divided: str) -> None:
    assert divided in text(turn)


@pytest.mark.parametrize(
    "turn",
    [
        "if i % 50 == 0:\n    step(a, b, 2.0)\nelse:\n    step(a, b)",
        "w = 1.0\nif i % 50 == 0:\n    w = 2.0\nstep(a, b, w)",
        "if i % 50 == 0:\n    w = 2.0\nelse:\n    w = 1.0\nstep(a, b, w)",
        "if i % 50 == 0:\n    a = a + tf.random.normal(a.shape)\nstep(a, b)",
        "with tf.GradientTape() as tape:\n    loss = tf.reduce_mean((model(a) - b) ** 2)\n    if i % 50 == 0:\n"
        "        loss += tf.reduce_sum(model.weights[0] ** 2)\n"
        "opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))",
    ],
)
def test_what_the_loss_of_a_turn_is_made_of(turn: str) -> None:
    """With a penalty in every 16th update, sixteen ranks had it in each."""
    kept = next(line for line in turn.splitlines() if "%" in line)
    assert f"{kept}\n" in text(turn)


@pytest.mark.parametrize(
    "turn",
    [
        "if i % 50 == 0:\n    w = w * 0.9\nstep(a, b, w)",
        "if i % 50 == 0:\n    w *= 0.9\nstep(a, b, w)",
        "loss = step(a, b)\nif i % 50 == 0:\n    loss = float(loss)\n    print(loss)",
        "if i % 50 == 0:\n    step(a, b, verbose=True)\nelse:\n    step(a, b)",
    ],
)
def test_what_stays_or_is_shown_comes_after_as_many_rows(turn: str) -> None:
    assert "if i % 50 == 0" not in text(turn)


@pytest.mark.parametrize(
    ("turn", "moved", "tested"),
    [
        (
            "step(a, b)\nn = (n + 1) % 50\nif n == 0:\n    {}",
            "n = (n + hvd.size()) % 50",
            "if n < hvd.size()",
        ),
        (
            "step(a, b)\nn = (n + 1) % 50\nif n == 49:\n    {}",
            "n = (n + hvd.size()) % 50",
            "if (n - 49) % 50 < hvd.size()",
        ),
        (
            "step(a, b)\nn = (n + 1) % k\nif not n:\n    {}",
            "n = (n + hvd.size()) % k",
            "if not n >= hvd.size()",
        ),
    ],
)
def test_a_count_that_goes_round_goes_on_by_all_ranks(turn: str, moved: str, tested: str) -> None:
    """What came by it came size() times too seldom."""
    distributed = text(turn.format("model.save_weights('w')"))
    assert f"    {moved}\n    {tested}" in distributed


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("rest", [0, 1, 9])
def test_what_comes_by_it_comes_as_often(size: int, rest: int) -> None:
    """The generated test, counted: once for each time that one process comes to the number, at most in each step."""
    rows, every, n, came = 1680, 10, 0, 0
    for _ in range(rows // size):
        n = (n + size) % every
        came += (n - rest) % every < size
    assert came == min(rows // every, rows // size)


@pytest.mark.parametrize(
    "turn",
    [
        "step(a, b)\nn = (n + 1) % 5\nif n == 0:\n    step(a, b, 2.0)",
        "step(a, b)\nif i - n == 5:\n    step(a, b, 2.0)\n    n = i",
    ],
)
def test_another_update_by_such_a_count_stays(turn: str) -> None:
    distributed = text(turn)
    assert all(f"    {line}\n" in distributed for line in turn.splitlines() if "n " in line)


def test_rows_that_such_a_count_selects_are_asked_about() -> None:
    turn = "kept[n] = step(a, b)\nn = (n + 1) % 50\nprint(kept[n])\nif n == 0:\n    model.save_weights('w')"
    source = "kept = [0] * 50\n" + HEAD.format(begin=0, turn=turn.replace("\n", "\n    "))
    assert any("stands among so many" in change.doubt for change in plan_of(source).to_confirm)


FED = """\
import numpy as np
import tensorflow.compat.v1 as tf
rows = np.load("rows.npy")
x = tf.placeholder(tf.float32, [None, 4])
w = tf.placeholder_with_default(1.0, [])
loss = w * tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
shown = tf.summary.scalar("loss", loss)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
k = 1.0
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(1000):
        batch = rows[np.random.randint(0, 800, 16)]
        {}
"""


@pytest.mark.parametrize(
    ("turn", "stays"),
    [
        ("feed = {x: batch}\nif i % 50 == 0:\n    feed[w] = 2.0\nsession.run(train, feed)", True),
        ("k = 1.0\nif i % 50 == 0:\n    k = 2.0\nsession.run(train, {x: batch, w: k})", True),
        ("if i % 50 == 0:\n    k = k * 0.9\nsession.run(train, {x: batch, w: k})", False),
        (  # shown, and made again for the step
            "if i % 50 == 0:\n    z = np.zeros(16)\n    z[3] = 1\n    session.run(shown, {x: rows, w: z})\n"
            "    plt.savefig('p.png')\n"
            "z = np.random.rand(16)\nsession.run(train, {x: batch, w: z})",
            False,
        ),
        (
            "z = np.zeros(16)\nif i % 50 == 0:\n    z[3] = 1\nsession.run(train, {x: batch, w: z})",
            True,
        ),
        (
            "fetched = {'t': train}\nif i % 50 == 0:\n    fetched['s'] = shown\nsession.run(fetched, {x: batch})",
            False,
        ),
    ],
)
def test_what_a_session_is_fed_in_a_turn(turn: str, stays: bool) -> None:
    distributed = plan_of(FED.format(turn.replace("\n", "\n        "))).text
    assert ("        if i % 50 == 0:\n" in distributed) == stays


def test_what_is_fed_after_the_step_of_a_turn_is_an_event() -> None:
    turn = "feed = {x: batch}\nsession.run(train, feed)\nif i % 50 == 0:\n    feed = {x: rows}\n    session.run(loss, feed)"
    assert "        if i % 50 == 0:\n" not in plan_of(FED.format(turn.replace("\n", "\n        "))).text
