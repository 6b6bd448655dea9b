"""Which tests have one answer on all of several ranks, and in every turn."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import facts_of
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import horovod.tensorflow as hvd
hvd.init()
me = hvd.rank()
for epoch in range(5):
    for step, x in enumerate(rows):
        for late in range(3, 9):
            for down in range(9, 0, -1):
"""


def answers(test: str) -> tuple[bool | None, bool | None]:
    """What a test always gives, and what it gives in the end."""
    facts = facts_of(
        summarize(Document(f"{HEAD}                if {test}:\n                    mark()\n", "train.py"))
    )
    (found,) = (n for n in ast.walk(facts.module.tree) if isinstance(n, ast.If))
    certain = facts.certain_tests
    return certain.answer(found.test), certain.answer(found.test, in_the_end=True)


@pytest.mark.parametrize(
    ("test", "always", "in_the_end"),
    [
        ("me >= 0", True, True),
        ("hvd.rank() > -1", True, True),
        ("0 <= hvd.rank()", True, True),
        ("hvd.rank() < 0", False, False),
        ("not hvd.rank() < 0", True, True),
        ("hvd.size() > 1", True, True),
        ("hvd.size() > 2", None, None),
        ("hvd.rank() > 0", None, None),
        ("me == 0", None, None),
        ("len(rows) >= 0", True, True),
        ("step >= 0", True, True),
        ("step > 0", None, True),
        ("step == 0", None, False),
        ("late > 2", True, True),
        ("late >= 4", None, True),
        ("down >= 0", None, None),
        ("x >= 0", None, None),
        ("step % 100 == 0", None, None),
        ("step > 0 and me >= 0", None, True),
        ("me >= 0 or verbose", True, True),
        ("me >= 0 and verbose", None, None),
    ],
)
def test_what_a_test_gives(test: str, always: bool | None, in_the_end: bool | None) -> None:
    assert answers(test) == (always, in_the_end)
