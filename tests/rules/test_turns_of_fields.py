"""Turns that a field counts, `for self.step in range(self.start, n):`, read by what is handed the object."""

from __future__ import annotations

import pytest

from .dividing import TAPE
from .pairs import plan_of

PROGRAM = """\
class Trainer:
    def __init__(self, parts, last):
        self.parts, self.last, self.start = parts, last, 0
        self.step = {set}
        self.rows = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(4))
        self.done = tf.Variable(0)
        self.saved = tf.train.Checkpoint(done=self.done, model=model)
    def train(self):
        self.saved.restore(tf.train.latest_checkpoint("kept"))
        self.start = int(self.done.numpy())
        for self.step in range(self.start, self.last):
            step(*next(self.rows))
            for part in self.parts:
                part.after(self)
class Keeps:
    def __init__(self, every):
        self.every = every
    def after(self, trainer):
        if (trainer.step + 1) % self.every == 0:
            trainer.done.assign(trainer.step + 1)
            trainer.saved.save("kept/m")
Trainer([Keeps(10)], 500).train()
"""


@pytest.mark.parametrize("none_taken", ["0", "-1", "self.start"])
def test_what_is_handed_the_object_counts_the_steps_of_all_ranks(none_taken: str) -> None:
    """By `step + 1`, which is odd on two ranks, it would never come."""
    text = plan_of(TAPE + PROGRAM.format(set=none_taken)).text
    assert "for self.step in range(self.start, self.last, hvd.size()):" in text
    assert "if (trainer.step + hvd.size()) % self.every < hvd.size():" in text
    assert "trainer.done.assign(trainer.step + hvd.size())" in text


@pytest.mark.parametrize("other", ["7", "input()", "last"])
def test_a_field_that_may_hold_something_else_is_asked_about(other: str) -> None:
    plan = plan_of(TAPE + PROGRAM.format(set=other))
    assert "(trainer.step + 1) % self.every" in plan.text
    assert any("this test reads their number" in c.doubt for c in plan.to_confirm)


@pytest.mark.parametrize(
    "loop", ["for self.step in range(3):\n            note(self)\n        for i in range(500):", ""]
)
def test_a_field_that_numbers_no_steps_is_not_asked_about(loop: str) -> None:
    program = PROGRAM.format(set="7").replace(
        "for self.step in range(self.start, self.last):", loop or "while draw(self):"
    )
    assert not any("this test reads their number" in c.doubt for c in plan_of(TAPE + program).to_confirm)
