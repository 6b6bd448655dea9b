"""G5: tests that hold for a part of each cycle of steps hold for as large a part of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ..loops.test_own_numbers import HEAD
from ..pairs import plan_of

LOOP = """\
data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(B)
step = 0
for epoch in range(3):
    for x, y in data:
        train(x, y)
        step += 1
        if {}:
            opt.learning_rate = 0.01
"""
STRIDED = """\
ckpt = tf.train.Checkpoint(model=model, step=tf.Variable(0))
ckpt.restore(tf.train.latest_checkpoint("kept"))
for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(B).repeat(3):
    train(x, y)
    ckpt.step.assign_add(1)
    if {}:
        opt.learning_rate = 0.01
    ckpt.save("kept/a")
"""
TOLD = {
    "step % 100 < 50": "step * hvd.size() % 100 < max(50, hvd.size())",
    "step % 100 <= 3": "step * hvd.size() % 100 <= max(3, hvd.size() - 1)",
    "step % 100 >= 50": "step * hvd.size() % 100 >= min(50, 100 - hvd.size())",
    "step % 100 > 97": "step * hvd.size() % 100 > min(97, 100 - hvd.size() - 1)",
    "50 > step % 100": "max(50, hvd.size()) > step * hvd.size() % 100",
    "(step + 1) % 100 < 1": "(step + 1) * hvd.size() % 100 < max(1, hvd.size())",
    "step % 10000 < 5000": "step * hvd.size() % 10000 < 5000",
    "step % 100 in range(10)": "step * hvd.size() % 100 in range(max(10, hvd.size()))",
    "step % 100 in (0, 50)": "any((step * hvd.size() - rest) % 100 < hvd.size() for rest in (0, 50))",
    "step % 100 not in [0, 50]": "all((step * hvd.size() - rest) % 100 >= hvd.size() for rest in [0, 50])",
    "10 < step % 1000 < 200": "10 < step * hvd.size() % 1000 < 200",
    "100 <= step < 200": "max(1, 100 // hvd.size()) <= step < max(1, 200 // hvd.size())",
    "200 > step >= 100": "max(1, 200 // hvd.size()) > step >= max(1, 100 // hvd.size())",
    "not 50 < step <= 150": "not max(1, 50 // hvd.size()) < step <= max(1, 150 // hvd.size())",
    "0 < (step - 1) // 40 < 3": "0 < (step - 1) // max(1, 40 // hvd.size()) < 3",
    "tf.less(step % 100, 50)": "tf.less(step * hvd.size() % 100, max(50, hvd.size()))",
}


@pytest.mark.parametrize(("test", "told"), TOLD.items())
def test_a_part_of_each_cycle(test: str, told: str) -> None:
    plan = plan_of(HEAD + LOOP.format(test))
    assert f"        if {told}:\n" in plan.text
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize("test", ["10 < step % 100 < 20", "step % 100 in SAVED", "step % 100 in range(5, 9)"])
def test_a_part_that_ranks_may_step_over_is_asked_about(test: str) -> None:
    plan = plan_of(HEAD + "SAVED = make()\n" + LOOP.format(test))
    assert not all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("int(ckpt.step) % 100 < 50", "int(ckpt.step) % 100 < max(50, hvd.size())"),
        (
            "int(ckpt.step) % 100 in (0, 50)",
            "any((int(ckpt.step) - rest) % 100 < hvd.size() for rest in (0, 50))",
        ),
        ("int(ckpt.step) % 100 >= 97", "int(ckpt.step) % 100 >= min(97, 100 - hvd.size())"),
    ],
)
def test_of_what_counts_the_steps_of_all_ranks(test: str, told: str) -> None:
    assert f"    if {told}:\n" in plan_of(HEAD + STRIDED.format(test)).text


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize(
    "test", [t for t in TOLD if "step % 100 " in t and "in (" not in t and "in [" not in t and t[0] == "s"]
)
def test_it_holds_for_as_many_of_the_rows(test: str, size: int) -> None:
    """On ranks it holds for the same share of the steps, but for what a step of all ranks is at each end, and once at least in
    each cycle."""
    hvd = SimpleNamespace(size=lambda: size)
    steps = 1200
    alone = sum(eval(test, {"step": step}) for step in range(steps))
    ranks = size * sum(eval(TOLD[test], {"step": step, "hvd": hvd}) for step in range(steps // size))
    cycles = steps // 100
    assert abs(ranks - alone) <= cycles * 2 * size
    assert ranks >= cycles * (1 if size < 100 else 0)


@pytest.mark.parametrize(
    "named", ["def is_due(n):\n    return n % 5 == 0\n", "is_due = lambda n: n % 5 == 0\n"]
)
def test_which_updates_go_together_stays_in_a_function_too(named: str) -> None:
    more = (
        "            with tf.GradientTape() as tape:\n                loss = tf.reduce_mean(other(x))\n"
        "            others.apply_gradients(zip(tape.gradient(loss, other.trainable_variables), other.trainable_variables))\n"
    )
    made = "other = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nothers = tf.keras.optimizers.SGD(0.1)\n"
    program = LOOP.format("is_due(step)").replace("            opt.learning_rate = 0.01\n", more)
    assert "n % 5 == 0" in plan_of(HEAD + made + named + program).text


def test_a_step_with_something_beside_it_in_one_arm() -> None:
    named = "def is_due(n):\n    return n % 50 == 0\n"
    program = LOOP.replace("        train(x, y)\n", "").format("is_due(step)")
    arms = "            train(x, y)\n            model.save_weights('w.h5')\n        else:\n            train(x, y)\n"
    text = plan_of(HEAD + named + program.replace("            opt.learning_rate = 0.01\n", arms)).text
    assert "return n % max(1, 50 // hvd.size()) == 0" in text


def test_one_that_only_saves_is_rank_0s() -> None:
    program = LOOP.format("step % 100 in (0, 50)").replace(
        "opt.learning_rate = 0.01", "model.save_weights('w.h5')"
    )
    told = TOLD["step % 100 in (0, 50)"]
    assert f"        if {told} and hvd.rank() == 0:\n" in plan_of(HEAD + program).text


@pytest.mark.parametrize(
    "rate",
    ["0.05 if i % 100 < 50 else 0.02", "0.1 * (0.5 if i % 100 < 50 else 1)", "HIGH if i % 100 < 50 else LOW"],
)
def test_a_rate_is_no_row_that_is_picked(rate: str) -> None:
    program = (
        "HIGH, LOW = 0.05, 0.02\ndef train_at(i, rate):\n    opt.learning_rate = rate\n"
        "    train(X[i * B :][:B], Y[i * B :][:B])\n"
        f"for i in range(320):\n    train_at(i, {rate})\n"
    )
    text = plan_of(HEAD + program).text
    assert "own_i % 100" not in text
    assert (
        "i * hvd.size() % 100 < max(50, hvd.size())" in text
        or "min(i * hvd.size(), 320 - 1) % 100 < 50" in text
    )
