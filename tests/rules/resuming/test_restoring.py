"""G6: what is read from a checkpoint, and where the ranks agree on it."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4)\nbatches = iter(ds)\n"
KEPT = "ck = tf.train.Checkpoint(step=tf.Variable(0), model=model)\nck.restore(tf.train.latest_checkpoint('d'))\n"


@pytest.mark.parametrize(
    "begins",
    [
        "n = int(ck.step)\n",
        "n = ck.step.numpy()\n",
        "n = int(ck.step.numpy()) + 1\n",
        "start = ck.step\nn = int(start)\n",
        "def begin():\n    return int(ck.step)\nn = begin()\n",
    ],
)
@pytest.mark.parametrize("kept", ["    ck.step.assign_add(1)\n", "    ck.step.assign(n)\n"])
def test_a_number_that_begins_at_what_a_checkpoint_keeps_counts_as_that_does(begins: str, kept: str) -> None:
    loop = f"for x, y in ds:\n    if n > 1000:\n        break\n    step(x, y)\n    n += 1\n{kept}"
    loop += "    if n % 100 == 0:\n        keep()\n"
    text = plan_of(HEAD + KEPT + begins + loop).text
    assert "    if n > 1000:\n" in text
    assert "    n += hvd.size()\n" in text
    assert kept.replace("add(1)", "add(hvd.size())") in text
    assert "    if n % 100 < hvd.size():\n" in text


@pytest.mark.parametrize(
    "begins",
    [
        "n = 0\n",
        "n = int(other)\n",
    ],
)
def test_a_number_that_begins_at_something_else_is_compared_with_a_ranks_steps(begins: str) -> None:
    loop = "for e in range(int(ck.step), 9):\n    for x, y in ds:\n        step(x, y)\n        n += 1\n"
    loop += "        if n % 100 == 0:\n            keep()\n"
    text = plan_of(HEAD.replace(".repeat()", "") + KEPT + "other = tf.Variable(0)\n" + begins + loop).text
    assert "        n += 1\n" in text
    assert "if n % max(1, 100 // hvd.size()) == 0:" in text


def test_a_number_that_begins_with_the_steps_of_epochs_counts_for_all_ranks() -> None:
    """The length is that of a rank's share, of which the epochs before had size() times as many steps."""
    loop = "for e in range(int(ck.step), 9):\n    for x, y in ds:\n        step(x, y)\n        n += 1\n"
    loop += "        if n % 100 == 0:\n            keep()\n"
    begins = "n = int(ck.step) * len(ds)\n"
    text = plan_of(HEAD.replace(".repeat()", "") + KEPT + begins + loop).text
    assert "n = int(ck.step) * len(ds) * hvd.size()\n" in text
    assert "        n += hvd.size()\n" in text
    assert "        if n % 100 < hvd.size():\n" in text


FOUND = "n = 0\npath = tf.train.latest_checkpoint('d')\n"
MADE = "    ck = tf.train.Checkpoint(step=tf.Variable(0), model=model)\n    ck.restore(path)\n"
COUNTED = (
    "for x, y in ds:\n    n += 1\n    step(x, y)\n    if n == 1000:\n        break\n"
    "tf.train.Checkpoint(step=tf.Variable(n), model=model).save('d')\n"
)


def test_a_checkpoint_that_is_made_where_one_is_found_is_restored_on_all_ranks_or_on_none() -> None:
    text = plan_of(HEAD + FOUND + "if path:\n" + MADE + "    n = int(ck.step)\n" + COUNTED).text
    assert "path = hvd.broadcast_object(path)\nif path:\n" in text
    sent = "    ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n    n = int(ck.step)\n"
    assert f"    ck.restore(path)\n{sent}" in text
    assert "    if 1000 <= n < 1000 + hvd.size():\n" in text


def test_a_checkpoint_that_is_made_in_an_else_is_restored_on_all_ranks_or_on_none() -> None:
    text = plan_of(
        HEAD
        + FOUND
        + "if path is None:\n    print('new')\nelse:\n"
        + MADE
        + "    n = int(ck.step)\n"
        + COUNTED
    ).text
    assert "if hvd.broadcast_object(path is None):\n" in text
    assert "    ck.restore(path)\n    ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n" in text


def test_a_name_that_is_something_else_without_a_checkpoint_is_sent_where_it_is_one() -> None:
    text = plan_of(
        HEAD + "ck = None\n" + FOUND + "if path:\n" + MADE + "    n = int(ck.step)\n" + COUNTED
    ).text
    assert "    ck.restore(path)\n    ck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n" in text


def test_a_number_that_a_function_makes_of_a_checkpoint_of_its_own_is_sent_where_it_comes_back() -> None:
    made = "".join(f"    {line}\n" for line in ("if path:\n" + MADE + "    n = int(ck.step)").splitlines())
    function = (
        "def load():\n    n = 0\n    path = tf.train.latest_checkpoint('d')\n" + made + "    return n\n"
    )
    text = plan_of(HEAD + function + "n = load()\n" + COUNTED).text
    assert "n = hvd.broadcast_object(load())\n" in text
    assert "ck.step.assign" not in text


def test_what_a_try_may_leave_out_is_asked_about() -> None:
    plan = plan_of(
        HEAD
        + "path = 'd/ck-1'\ntry:\n"
        + MADE
        + "    n = int(ck.step)\nexcept tf.errors.NotFoundError:\n    n = 0\n"
        + COUNTED
    )
    assert "ck.step.assign" not in plan.text
    assert any("other hosts may have no checkpoint" in c.doubt for c in plan.changes)


def test_a_checkpoint_that_is_there_anyway_is_sent_behind_the_branch() -> None:
    text = plan_of(
        HEAD
        + "ck = tf.train.Checkpoint(step=tf.Variable(0), model=model)\npath = tf.train.latest_checkpoint('d')\n"
        + "if path:\n    ck.restore(path)\nn = int(ck.step)\n"
        + COUNTED
    ).text
    assert "if path:\n    ck.restore(path)\nck.step.assign(hvd.broadcast_object(ck.step.numpy()))\n" in text
