"""C5, G5: a loader whose pointer says which row comes next, and begins again after the last, gives all ranks the same."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of
from ..sessions import BUILT, INIT

LOADER = """\
class Loader:
    def __init__(self, rows, size):
        self.data, self.size, self.pointer = rows, size, 0

    def next_batch(self):
        batch = []
        for _ in range(self.size):
            batch.append(self.data[self.pointer])
            self.tick()
        return batch

    def tick(self):
        self.pointer += 1
        if self.pointer >= len(self.data):
            self.pointer = 0


loader = Loader(np.load("rows.npy"), 16)
"""
HEAD = BUILT.replace("import tensorflow as tf\n", "import numpy as np\nimport tensorflow as tf\n", 1) + LOADER
OPENED = "sess = tf.Session()\n" + INIT


@pytest.mark.parametrize(
    "step",
    [
        "sess.run(train, {x: loader.next_batch()})",
        "rows = loader.next_batch()\n    sess.run(train, {x: rows})",
    ],
)
def test_it_is_asked_about_and_goes_through_all_rows(step: str) -> None:
    plan = plan_of(f"{HEAD}{OPENED}for i in range(500):\n    {step}\n")
    assert any("all ranks are given the same rows" in doubt for doubt in doubts(plan, "C5"))
    assert "if self.pointer >= len(self.data):" in plan.text


def test_rows_that_each_rank_draws_are_its_own() -> None:
    drawn = HEAD.replace("self.data[self.pointer]", "self.data[np.random.randint(len(self.data))]")
    plan = plan_of(
        f"{drawn}{OPENED}for i in range(500):\n    rows = loader.next_batch()\n    sess.run(train, {{x: rows}})\n"
    )
    assert not doubts(plan, "C5")
