"""G5: the number of an epoch that is counted by steps, `step // 60`, is what it was after as many rows."""

from __future__ import annotations

import textwrap

import pytest

from ..dividing import TAPE
from ..pairs import MODEL, plan_of

STEP = """\
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
HEAD = MODEL + "opt = o.SGD(0.1)\nPER = 60\ndata = tf.data.Dataset.range(960).repeat().batch(16)\n"
LOOP = "for step, x in enumerate(data):\n"
END = "    if step > 900: break\n"
ROWS = "for step in range(0, 960, PER):\n    x = rows[step : step + PER]\n"
EPOCHS = "for e in range(90):\n    for x in data.take(9):\n"
OVER = "max(1, PER // hvd.size())"


@pytest.mark.parametrize(
    ("epoch", "wanted"),
    [
        ("step // PER", f"step // {OVER}"),
        ("(step + 1) // PER", f"(step + 1) // {OVER}"),
        ("step // 60", "step // max(1, 60 // hvd.size())"),
        ("int(step / PER)", f"int(step / {OVER})"),
        ("divmod(step, PER)[0]", f"divmod(step, {OVER})[0]"),
        ("1 + step // PER", f"1 + step // {OVER}"),
    ],
)
def test_an_epoch_begins_after_as_many_rows(epoch: str, wanted: str) -> None:
    """So a loop that ends by it ends."""
    text = plan_of(HEAD + LOOP + STEP + f"    epoch = {epoch}\n    if epoch >= 3:\n        break\n").text
    assert f"    epoch = {wanted}\n    if epoch >= 3:\n        break\n" in text


def test_a_loop_that_ends_by_its_epoch_is_not_asked_about() -> None:
    body = "    x = next(it)\n" + STEP + "    step += 1\n"
    plan = plan_of(HEAD + "it = iter(data)\nstep = 0\nwhile step // PER < 3:\n" + body)
    assert f"while step // {OVER} < 3:" in plan.text
    assert not any(c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "test", ["step // 40 != (step - 1) // 40", "divmod(step, 80)[1] == 0", "not divmod(step, PER)[1]"]
)
def test_what_comes_with_an_epoch_comes_as_often(test: str) -> None:
    text = plan_of(
        HEAD + LOOP + STEP + f"    if {test}:\n        model.save('m.h5')\n    if step > 900: break\n"
    ).text
    for number in ("40", "80", "PER"):
        assert test.count(number) == text.split("if first_batch")[1].count(f"max(1, {number} // hvd.size())")


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        # how updates go with each other
        (LOOP + STEP + END + "    turn = step // 4\n", "turn = step // 4\n"),
        # the number of a batch
        (ROWS + STEP + "    n = step // PER\n", "n = step // PER\n"),
        # what counts something else
        (LOOP + STEP + END + "    n = len(x) // PER\n", "n = len(x) // PER\n"),
        # no count of a rank's: each rank sees all epochs
        (EPOCHS + textwrap.indent(STEP, "    ") + "    tenth = e // PER\n", "tenth = e // PER\n"),
        # the number of steps in an epoch, of a loop around them that takes as many turns as before
        (
            "n_epochs, done = 90, 0\nfor e in range(n_epochs):\n    for x in data.take(90):\n"
            + textwrap.indent(STEP, "    ")
            + "        done += 1\nper = int(done / n_epochs)\n",
            "per = int(done / n_epochs)\n",
        ),
    ],
)
def test_what_is_no_epoch_stays(source: str, kept: str) -> None:
    assert kept in plan_of("import numpy as np\nrows = np.zeros((960, 3))\n" + HEAD + source).text


def test_a_rate_by_epochs_changes_once() -> None:
    """The rate's formula is told the steps of all ranks: then what they are divided by stays."""
    text = plan_of(
        HEAD + LOOP + STEP + "    opt.learning_rate = 0.1 * 0.5 ** (step // PER)\n    if step > 900: break\n"
    ).text
    assert "0.5 ** (step * hvd.size() // PER)" in text
    assert OVER not in text


def test_an_epoch_that_is_compared_with_that_of_an_earlier_step_is_divided_with_it() -> None:
    """One side was: the event came with each step."""
    loop = """
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
n, last, other = 0, 0, 7
for epoch in range(10):
    for p, q in ds:
        step(p, q)
        if n // 20 > last // 20 and other // 20 == 0:
            model.save_weights("w.h5")
        last = n
        n += 1
"""
    text = plan_of(TAPE + loop).text
    assert "if n // max(1, 20 // hvd.size()) > last // max(1, 20 // hvd.size()) and other // 20 == 0" in text
