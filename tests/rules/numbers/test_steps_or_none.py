"""Numbers of steps that may be 0: a share of none is none, on one rank as on all."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

OPTIONS = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--never", type=int, default=-1)
parser.add_argument("--steps", type=int, default=500)
args = parser.parse_args()
"""
DATA = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
LOOP = """\
count = 0
for epoch in range(9):
    for x, y in ds:
        step(x, y)
        count += 1
        if {}:
            keep(model)
"""
SOME = "min({0}, max(1, {0} // hvd.size()))".format


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("count < args.first", f"count < {SOME('args.first')}"),
        ("count >= args.steps", f"count >= {SOME('args.steps')}"),
        ("count == args.never", f"count == {SOME('args.never')}"),
        ("args.first <= count", f"{SOME('args.first')} <= count"),
        # some steps: as they are written, or the number of rows
        ("count < 40", "count < max(1, 40 // hvd.size())"),
        ("count < 2 * WARM", "count < max(1, 2 * WARM // hvd.size())"),
        ("count < len(a) // 4", "count < max(1, len(a) // 4 // hvd.size())"),
        ("count < max(1, args.first)", "count < max(1, max(1, args.first) // hvd.size())"),
        # asked before
        ("args.steps and count >= args.steps", "args.steps and count >= max(1, args.steps // hvd.size())"),
        (
            "args.steps > 0 and count >= args.steps",
            "args.steps > 0 and count >= max(1, args.steps // hvd.size())",
        ),
        (
            "args.steps is not None and args.steps <= count",
            "args.steps is not None and max(1, args.steps // hvd.size()) <= count",
        ),
        # another is asked
        ("args.first and count >= args.steps", f"args.first and count >= {SOME('args.steps')}"),
        ("count >= args.steps and args.steps > 0", f"count >= {SOME('args.steps')} and args.steps > 0"),
    ],
)
def test_a_number_that_steps_are_compared_with(before: str, after: str) -> None:
    text = plan_of(TAPE + OPTIONS + "WARM = 20\n" + DATA + LOOP.format(before)).text
    assert f"        if {after}:\n" in text or f"        if {after} and hvd.rank() == 0:\n" in text


GOES_ON = """\
done = tf.Variable(0)
saved = tf.train.Checkpoint(done=done, model=model)
saved.restore(tf.train.latest_checkpoint("kept"))
an_epoch = len(a) // 4
first, left = int(done) // an_epoch, int(done) % an_epoch
for epoch in range(first, 9):
    for i, (x, y) in enumerate(ds):
        if {}:
            continue
        step(x, y)
        done.assign_add(1)
    saved.save("kept/m")
"""


@pytest.mark.parametrize("test", ["epoch == first and i < {}", "i < {} and epoch == first"])
def test_a_run_that_begins_leaves_no_batch_out(test: str) -> None:
    text = plan_of(TAPE + DATA + GOES_ON.format(test.format("left"))).text
    assert f"        if {test.format(SOME('left'))}:\n" in text


@pytest.mark.parametrize(
    ("turns", "after"),
    [
        ("range(args.first)", f"range({SOME('args.first')})"),
        ("range(args.never)", f"range({SOME('args.never')})"),
        ("ds.take(args.first)", f"ds.take({SOME('args.first')})"),
        ("range(args.steps)", "range(max(1, args.steps // hvd.size()))"),
        ("range(first)", f"range({SOME('first')})"),
    ],
)
def test_steps_of_which_there_are_none_by_default(turns: str, after: str) -> None:
    batch = "" if "ds" in turns else "x, y = draw()\n    "
    names = "x, y" if "ds" in turns else "i"
    text = plan_of(
        f"{TAPE}{OPTIONS}{DATA}first = args.first\nfor {names} in {turns}:\n    {batch}step(x, y)\n"
    ).text
    assert after in text
