"""S5: loops that go on by what the source of their batches counts end with a rank's share, where each turn draws all ranks'."""

from __future__ import annotations

import pytest

from ..pairs import plan_of
from ..sessions import BUILT, INIT

SOURCE = """\
import numpy as np
class Rows(object):
    def __init__(self, rows):
        self.rows, self.at, self._epochs, self.calls, self.limit = rows, 0, 0, 0, 9
    @property
    def epochs(self):
        return self._epochs
    def next_batch(self, n):
        start, self.at = self.at, self.at + n
        self.calls += 1
        if self.at > len(self.rows):
            self._epochs += 1
            np.random.shuffle(self.rows)
            start, self.at = 0, n
        return self.rows[start:self.at]
rows = Rows(np.ones([64, 1]))
step = 0
"""
LOOP = """\
while {test}:
    sess.run(train, {{x: rows.next_batch(8)}})
    step += 1
    if step % 100 == 0:
        print(step)
"""
OWN = "[rows.next_batch(8) for _ in range(hvd.size())][hvd.rank()]"


def planned(test: str, source: str = SOURCE) -> tuple[str, list[str]]:
    plan = plan_of(source + BUILT + "sess = tf.Session()\n" + INIT + LOOP.format(test=test))
    return plan.text, [n.message for n in plan.notes]


@pytest.mark.parametrize(
    "test", ["rows.epochs < 5", "rows._epochs < 5", "5 > rows.epochs", "rows.calls < 900"]
)
def test_the_end_comes_with_a_ranks_share(test: str) -> None:
    text, notes = planned(test)
    assert f"while {test}:" in text
    assert f"{{x: {OWN}}}" in text
    assert "alike(np.random.shuffle)(self.rows)" in text
    assert "if step % max(1, 100 // hvd.size()) == 0" in text
    assert "GradientDescentOptimizer(0.1 * hvd.size())" in text or "* hvd.size())" in text
    assert not [n for n in notes if "how many steps" in n]


def test_so_of_a_source_that_is_imported() -> None:
    source = "import data\nmnist = data.read()\nstep = 0\n"
    loop = LOOP.replace("rows.next_batch(8)", "mnist.train.next_batch(8)").format(
        test="mnist.train.epochs < 5"
    )
    text = plan_of(source + BUILT + "sess = tf.Session()\n" + INIT + loop).text
    assert "[mnist.train.next_batch(8) for _ in range(hvd.size())][hvd.rank()]" in text


@pytest.mark.parametrize(
    "test",
    [
        "rows.limit < 5",  # that drawing doesn't move
        "others.epochs < 5",  # of another object
        "patience(rows)",
    ],
)
def test_what_drawing_does_not_move_on_is_no_end(test: str) -> None:
    text, notes = planned(test)
    assert [n for n in notes if "how many steps" in n]
    assert "if step % 100 == 0" in text


ENDS = """\
import numpy as np
class Rows(object):
    def __init__(self, rows):
        self.rows, self.at, self.size = rows, 0, 8
    def end(self):
        return self.at * self.size >= len(self.rows)
    def next_batch(self, n):
        start = self.at * n
        self.at += 1
        return np.vstack(list(self.rows[start:start + n]))
    def again(self):
        self.at = 0
rows = Rows(np.ones([200, 1]))
step = 0
"""


def drawn(test: str, source: str) -> str:
    text = planned(test, source)[0]
    return next(line for line in text.splitlines() if "next_batch(8)" in line).strip()


@pytest.mark.parametrize(
    "test", ["not rows.end()", "rows.at * 8 < len(rows.rows)", "step < 900 and not rows.end()"]
)
def test_no_rank_draws_beyond_the_end(test: str) -> None:
    """25 batches on two ranks: the draw for the second one failed in the last turn, or gave no rows."""
    more = f"[rows.next_batch(8) for _ in range(hvd.size()) if {test}]"
    if "len(" in test:  # what is called besides may do anything
        more = ""
    assert drawn(test, ENDS) == f"sess.run(train, {{x: {f'own_batch({more})' if more else OWN}}})"


def test_where_a_source_begins_again_by_itself_all_draw() -> None:
    assert drawn("rows.epochs < 5", SOURCE) == f"sess.run(train, {{x: {OWN}}})"
    around = ENDS.replace("self.at += 1", "self.at = (self.at + 1) % 25")
    assert drawn("not rows.end()", around) == f"sess.run(train, {{x: {OWN}}})"


def test_a_source_that_is_not_seen_ends_where_it_is_asked() -> None:
    source = "import data\nrows = data.read()\nstep = 0\n"
    assert "for _ in range(hvd.size()) if rows.has_next()])" in drawn("rows.has_next()", source)
    assert drawn("rows.epochs < 5", source) == f"sess.run(train, {{x: {OWN}}})"
