"""G4: what ends the program in a training loop, on all ranks together: the others would wait for one that has gone."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE
from ..pairs import plan_of

LOOP = """
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
count = 0
for epoch in range(9):
    for x, y in ds:
        loss = step(x, y)
        count += 1
"""
BY_ITS_LOSS = {
    "in the loop": ("", "        if np.isnan(loss):\n            {}\n"),
    "in a function": ("def check(loss):\n    if np.isnan(loss):\n        {}\n", "        check(loss)\n"),
    "in a method": (
        "class Guard:\n    def see(self, loss):\n        if np.isnan(loss):\n            print('NaN')\n            {}\n",
        "        Guard().see(loss)\n",
    ),
}
WELL = ["sys.exit()", "sys.exit(0)", "exit()", "quit()"]


def text_of(before: str, after: str) -> str:
    plan = plan_of("import sys\n" + TAPE + before + LOOP + after)
    assert all(change.sure for change in plan.changes)
    return plan.text


@pytest.mark.parametrize("ends", WELL)
@pytest.mark.parametrize(("before", "after"), BY_ITS_LOSS.values(), ids=BY_ITS_LOSS)
def test_all_end_when_one_does(before: str, after: str, ends: str) -> None:
    assert "if any_rank(np.isnan(loss)):\n" in text_of(before.format(ends), after.format(ends))


@pytest.mark.parametrize("ends", ["sys.exit(1)", "raise ValueError('NaN')", "sys.exit('NaN')"])
@pytest.mark.parametrize(("before", "after"), BY_ITS_LOSS.values(), ids=BY_ITS_LOSS)
def test_what_fails_ends_all(before: str, after: str, ends: str) -> None:
    assert "any_rank" not in text_of(before.format(ends), after.format(ends))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "        if count > 100:\n            sys.exit()\n"),
        ("if len(sys.argv) > 3:\n    sys.exit()\n", ""),
        ("def usage():\n    print('usage')\n    sys.exit()\nif len(sys.argv) > 3:\n    usage()\n", ""),
    ],
)
def test_what_is_the_same_on_all_ranks_is_left(before: str, after: str) -> None:
    assert "any_rank" not in text_of(before, after)


CAUGHT = "class Done(Exception):\n    pass\n"
RAISED = {
    "in the loop": ("", "        try:\n            if np.isnan(loss):\n                raise Done\n"
                        "        except Done:\n            break\n"),
    "in a function": ("def check(loss):\n    if np.isnan(loss):\n        raise Done('NaN')\n",
                      "        try:\n            check(loss)\n        except (Done, KeyError):\n            break\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), RAISED.values(), ids=RAISED)
def test_what_the_program_catches_is_raised_on_all_ranks(before: str, after: str) -> None:
    assert "if any_rank(np.isnan(loss)):\n" in text_of(CAUGHT + before, after)


def test_what_nothing_catches_ends_all() -> None:
    assert "any_rank" not in text_of(CAUGHT, "        if np.isnan(loss):\n            raise Done\n")


@pytest.mark.parametrize(
    "elsewhere",
    [
        "def parse(text):\n    try:\n        return float(text)\n    except Done:\n        return 0.0\n",
        "try:\n    restore()\nexcept Done:\n    pass\n",
    ],
)
def test_what_is_caught_elsewhere_ends_all(elsewhere: str) -> None:
    """A rank that fails ends the others; asking all of them at each row that is read costs more than the reading."""
    check = "def check(loss):\n    if np.isnan(loss):\n        raise Done('NaN')\n"
    assert "any_rank" not in text_of(CAUGHT + elsewhere + check, "        check(loss)\n")


def test_what_a_caller_of_the_caller_catches_is_raised_on_all_ranks() -> None:
    check = "def check(loss):\n    if np.isnan(loss):\n        raise Done('NaN')\ndef look(loss):\n    check(loss)\n"
    after = "        try:\n            look(loss)\n        except Done:\n            break\n"
    assert "any_rank" in text_of(CAUGHT + check, after)


def test_what_is_raised_where_only_some_ranks_come_is_left() -> None:
    loader = "class Empty(Exception):\n    pass\ndef row(i):\n    if np.isnan(i):\n        raise Empty\n"
    tried = "        if np.random.rand() < 0.5:\n            try:\n                row(np.random.rand())\n"
    after = tried + "            except Empty:\n                print('empty')\n"
    plan = plan_of("import sys\n" + TAPE + loader + LOOP + after)
    assert "any_rank" not in plan.text


AROUND = """{head}
class Done(Exception):
    pass
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
count = 0
try:
    for epoch in range(9):
        for x, y in ds:
            loss = step(x, y)
            count += 1
{raises}
except Done:
    print("done")
"""


@pytest.mark.parametrize(
    ("raises", "after"),
    [
        ("if np.isnan(loss):\n    raise Done", "if any_rank(np.isnan(loss)):"),
        ("if count >= 300:\n    raise Done('enough')", "if count >= max(1, 300 // hvd.size()):"),
    ],
)
def test_a_try_around_training_that_is_left_by_the_programs_own_exception(raises: str, after: str) -> None:
    text = plan_of(AROUND.format(head=TAPE, raises=textwrap.indent(raises, " " * 12))).text
    assert after in text


@pytest.mark.parametrize(
    "raises",
    [
        "read(x)",  # what raises it can't be seen here
        "try:\n    read(x)\nexcept OSError:\n    raise Done",  # on one rank alone
        "problem = Done('NaN')\nif np.isnan(loss):\n    raise problem",
        "if np.isnan(loss):\n    raise Worse\nif count > 100:\n    raise Done",
        "def end():\n    while True:\n        raise Done\nread(x, end)",
    ],
)
def test_a_try_that_something_else_may_leave_is_refused(raises: str) -> None:
    source = AROUND.format(head=TAPE, raises=textwrap.indent(raises, " " * 12))
    source = source.replace(
        "    pass\n", "    pass\nclass Worse(Done):\n    pass\n" if "Worse" in raises else "    pass\n"
    )
    refusal = distribute(summarize(Document(source)))
    assert isinstance(refusal, Refusal)
    assert "where this fails on one rank" in refusal.reasons[0].message
