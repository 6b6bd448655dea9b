"""G4, S5: what a loop's head goes by, `while not done:`, `while mean > 0.01:`, is decided by the mean of what ranks measured,
as the test of a `break` is. A step's own loss ends the loop of all as soon as one rank's does. Where the rows of each step are
divided (strong scaling), the mean is the loss of the step, and decides with each."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

STOPPER = """\
class Stopper:
    def __init__(self): self.best, self.bad = None, 0
    def __call__(self, value):
        if self.best is None or value < self.best: self.best, self.bad = value, 0
        else: self.bad += 1
        return self.bad > 3
stopper = Stopper()
"""
STATE = """\
state = {"stop": False, "best": 1e9, "bad": 0}
def after(value):
    if value < state["best"]:
        state["best"], state["bad"] = value, 0
    else:
        state["bad"] += 1
    state["stop"] = state["bad"] > 3
"""
# What stands before the loop, its head, what each turn begins with, and what stands behind the steps; and what is averaged.
BY_MEANS = {
    "a mean": ("mean = 1e9\n", "mean > 0.01", "", "mean = np.mean(losses)", "mean = mean_over_ranks(np.mean(losses))"),
    "with a count": ("mean, turn = 1e9, 0\n", "mean > 0.01 and turn < 9", "", "mean = np.mean(losses)\nturn += 1",
                     "mean = mean_over_ranks(np.mean(losses))"),
    "a flag": ("done, turn = False, 0\n", "not done", "", "mean = np.mean(losses)\nturn += 1\ndone = mean < 0.01 or turn > 9",
               "mean = mean_over_ranks(np.mean(losses))"),
    "a flag under a test": ("done, last = False, None\n", "not done", "",
                            "mean = np.mean(losses)\nif last and last - mean < 0.1: done = True\nlast = mean",
                            "mean = mean_over_ranks(np.mean(losses))"),
    "a flag that goes on": ("going, last = True, 1e9\n", "going", "",
                            "mean = np.mean(losses)\ngoing = mean < last\nlast = mean",
                            "mean = mean_over_ranks(np.mean(losses))"),
    "two turns": ("last, mean = 9.0, 8.0\n", "last - mean > 0.1", "last = mean\n", "mean = np.mean(losses)",
                  "mean = mean_over_ranks(np.mean(losses))"),
    "a list": ("means = [9.0, 8.0]\n", "means[-2] - means[-1] > 0.1", "", "means.append(np.mean(losses))",
               "mean_over_ranks(means[-2]) - mean_over_ranks(means[-1])"),
    "a sum": ("total = 9.0\n", "total / 8 > 0.01", "total = 0.0\n", "total = sum(losses)",
              "total = mean_over_ranks(sum(losses))"),
    "a stopper": (STOPPER + "stop = False\n", "not stop", "", "stop = stopper(np.mean(losses))",
                  "stop = stopper(mean_over_ranks(np.mean(losses)))"),
    "a dictionary": (STATE, "not state['stop']", "", "after(np.mean(losses))", "after(mean_over_ranks(np.mean(losses)))"),
}  # fmt: skip


def plan_text(before: str, head: str, first: str, last: str) -> str:
    steps = "losses = []\nfor x, y in ds:\n    losses.append(step(x, y))\n"
    body = "".join(f"    {line}\n" for line in (first + steps + last).splitlines())
    data = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    return plan_of(TAPE + data + before + f"while {head}:\n" + body).text


@pytest.mark.parametrize(("before", "head", "first", "last", "averaged"), BY_MEANS.values(), ids=BY_MEANS)
def test_a_head_goes_by_the_mean(before: str, head: str, first: str, last: str, averaged: str) -> None:
    text = plan_text(before, head, first, last)
    assert averaged in text
    assert "any_rank(" not in text


@pytest.mark.parametrize("head", ["turn < 9", "turn < 9 and not turn > 20"])
def test_what_all_ranks_count_alike_is_left(head: str) -> None:
    text = plan_text("turn = 0\n", head, "", "turn += 1")
    assert f"while {head}:" in text
    assert "over_ranks(" not in text


def test_a_sum_that_begins_again_with_each_turn() -> None:
    """`total` at the head is what the last turn made of it, once it is averaged there."""
    before = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\ntotal = 9.0\n"
    body = "    total = 0.0\n    for x, y in ds:\n        total += float(step(x, y))\n    print(total)\n"
    text = plan_of(TAPE + before + "while total > 0.1:\n" + body).text
    assert "while total * hvd.size() > 0.1:" in text
    assert "    total = mean_over_ranks(total)\n" in text


def test_the_loss_of_one_rank_ends_the_loop_of_all() -> None:
    """As its `break` would: the head of one process would have met that batch, too."""
    before = "data = iter(tf.data.Dataset.from_tensor_slices((a, b)).batch(4).repeat())\nloss = 9.0\n"
    text = plan_of(TAPE + before + "while loss > 0.1:\n    x, y = next(data)\n    loss = step(x, y)\n").text
    assert "while not any_rank(not (loss > 0.1)):" in text


WHOLE = """\
import numpy as np
import tensorflow as tf
a = np.random.RandomState(0).rand(64, 1).astype("float32")
w = tf.Variable(1.0)
opt = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_{}(tf.square(w * x))
    opt.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss
"""
SHARES = {
    "a break": "for i in range(1000):\n    loss = step(a)\n    if loss < 0.1:\n        break\n",
    "a head": "loss = 9.0\nwhile loss > 0.1:\n    loss = step(a)\n",
    "two steps": "last, loss = 9.0, 8.0\nwhile abs(last - loss) > 0.1:\n    last = loss\n    loss = step(a)\n",
}


@pytest.mark.parametrize("loop", SHARES.values(), ids=SHARES)
def test_steps_on_shares_are_ended_by_the_loss_of_all_rows(loop: str) -> None:
    text = plan_of(WHOLE.format("mean") + loop).text
    assert "loss = mean_over_ranks(step(share_rows(a)))" in text
    assert "any_rank(" not in text


@pytest.mark.parametrize("loop", SHARES.values(), ids=SHARES)
def test_sums_over_shares_are_added_up_and_asked_about(loop: str) -> None:
    """An accuracy that the step gives, too, is a mean, which is not added up."""
    plan = plan_of(WHOLE.format("sum") + loop)
    text = plan.text
    assert [change.doubt.partition(":")[0] for change in plan.to_confirm] == [
        "the loss of these steps is a sum over rows, so this is added up over the ranks"
    ]
    assert "loss = mean_over_ranks(step(a[hvd.rank() :: hvd.size()])) * hvd.size()" in text
    assert "any_rank(" not in text


RESUMED = """\
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4).repeat()
ckpt = tf.train.Checkpoint(model=model, opt=opt, step=tf.Variable(0))
manager = tf.train.CheckpointManager(ckpt, "ck", max_to_keep=3)
ckpt.restore(manager.latest_checkpoint)
LAST = 300
for x, y in ds.take(LAST - int(ckpt.step)):
    step(x, y)
    ckpt.step.assign_add(1)
    done = int(ckpt.step)
    if done == {}:
        manager.save()
"""


@pytest.mark.parametrize(
    ("number", "test"),
    [
        (
            "LAST",
            "done <= LAST < done + hvd.size()",
        ),  # no rank comes to 300 where size() doesn't divide what is left
        ("100", "100 <= done < 100 + hvd.size()"),
    ],
)
def test_the_last_of_the_steps_that_are_left_comes(number: str, test: str) -> None:
    text = plan_of(TAPE + RESUMED.format(number)).text
    assert "ds.take((LAST - int(ckpt.step)) // hvd.size())" in text
    assert test in text


@pytest.mark.parametrize("loss", ["loss", "value"])
def test_the_loss_that_a_tape_follows_stays_as_it_is(loss: str) -> None:
    """Averaged under the tape, gradients would be those of the average; after it, there would be none."""
    start = WHOLE.format("mean").partition("def step")[0]
    loop = (
        "last = 9.0\nfor i in range(99):\n    with tf.GradientTape() as tape:\n"
        "        {0} = tf.reduce_mean(tf.square(w * a))\n"
        "    opt.apply_gradients(zip(tape.gradient({0}, [w]), [w]))\n"
        "    if last - {0} < 0.1:\n        break\n    last = {0}\n"
    )
    text = plan_of(start + loop.format(loss)).text
    assert f"        {loss} = tf.reduce_mean(tf.square(w * share_rows(a)))\n" in text
    assert f"    if last - mean_over_ranks({loss}) < 0.1:\n" in text
    assert f"    last = mean_over_ranks({loss})\n" in text
