"""G5 asks about tests of counts that no statement adds to."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import doubts, plan_of

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


GATED = """\
def every(n):
    def around(f):
        calls = 0
        def run(*args):
            nonlocal calls
            calls += 1
            {}
        return run
    return around
opt = tf.keras.optimizers.SGD(0.1)
@every(50)
def drop():
    opt.learning_rate = opt.learning_rate * 0.5
"""
GATE = "if calls % n == 0:\n                return f(*args)"


def test_what_a_decorator_counts_is_asked_about_and_what_it_decorates_does_not_run_with_each_step() -> None:
    """The rate was taken to fall with each call: by the power of size(), and half as often."""
    plan = plan_of(HEAD + GATED.format(GATE) + LOOP.format("drop()", "epoch > 9", "pass"))
    assert "opt.learning_rate * 0.5\n" in plan.text
    assert [d for d in doubts(plan, "G5") if "in which of them `drop` runs" in d]


@pytest.mark.parametrize("body", ["return f(*args)", "result = f(*args)\n            return result"])
def test_a_decorator_that_hands_each_call_on_changes_nothing(body: str) -> None:
    """Near miss: one that takes the time."""
    plan = plan_of(HEAD + GATED.format(body) + LOOP.format("drop()", "epoch > 9", "pass"))
    assert "opt.learning_rate * 0.5 ** hvd.size()\n" in plan.text
    assert not [d for d in doubts(plan, "G5") if "in which of them" in d]


def test_a_decorator_of_what_runs_with_each_epoch_is_not_asked_about() -> None:
    """Near miss."""
    loop = LOOP.format("pass", "epoch > 9", "pass") + "    drop()\n"
    plan = plan_of(HEAD + GATED.format(GATE) + loop)
    assert not [d for d in doubts(plan, "G5") if "in which of them" in d]
