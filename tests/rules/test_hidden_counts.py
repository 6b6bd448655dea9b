"""G5 asks about tests of counts that no statement adds to."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import doubts, plan_of

HEAD = (
    TAPE
    + "import collections\nds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(9).batch(4)\n"
    + "counts, box = collections.Counter(), [0]\ntick = lambda: box.__setitem__(0, box[0] + 1)\n"
)
LOOP = "for epoch in range(9):\n    for x, y in ds:\n        step(x, y)\n        {}\n        if {}:\n            {}\n"


def asked(counted: str, test: str, event: str = "model.save('m')") -> list[str]:
    return [
        d for d in doubts(plan_of(HEAD + LOOP.format(counted, test, event)), "G5") if "isn't followed" in d
    ]


@pytest.mark.parametrize(
    ("counted", "test"),
    [
        ("tick()", "box[0] % 10 == 0"),
        ("box.__setitem__(0, box[0] + 1)", "box[0] > 500"),
        ("counts.update(['step'])", "counts['step'] % 20 == 0"),
        ("counts.update(found)", "counts['step'] % 20 == 0"),
    ],
)
def test_such_a_count_is_asked_about(counted: str, test: str) -> None:
    assert len(asked(counted, test)) == 1


@pytest.mark.parametrize(
    ("counted", "test", "event"),
    [
        ("tick()", "box[0] % 10 == 0", "print(1)"),  # what is shown
        ("tick()", "box[1] % 10 == 0", "model.save('m')"),
        ("box.__setitem__(0, 3)", "box[0] % 10 == 0", "model.save('m')"),
        ("counts.update(['step'])", "counts['label'] % 20 == 0", "model.save('m')"),
        ("counts['step'] += 1", "counts['step'] % 200 == 0", "model.save('m')"),  # is divided
        ("{}.update(a=1)", "len(counts) == 20", "model.save('m')"),
    ],
)
def test_near_misses(counted: str, test: str, event: str) -> None:
    assert not asked(counted, test, event)


def test_what_is_counted_before_training_is_no_count_of_steps() -> None:
    before = "for label in labels:\n    counts.update([label])\n"
    plan = plan_of(HEAD + before + LOOP.format("pass", "counts[1] > 20", "model.save('m')"))
    assert not [d for d in doubts(plan, "G5") if "isn't followed" in d]
