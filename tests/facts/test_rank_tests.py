"""Which tests ask for the rank, what they decide, and how often a value is multiplied by the number of ranks."""

from __future__ import annotations

import ast

import pytest

from horovodize.facts import Facts, facts_of
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = "import tensorflow as tf\nimport horovod.tensorflow as hvd\nfrom horovod.tensorflow import rank as who\nhvd.init()\n"


def facts_and_mark(text: str) -> tuple[Facts, ast.Call]:
    """The facts of a text, and its only call of `mark`."""
    facts = facts_of(summarize(Document(HEAD + text, "train.py")))
    (call,) = facts.module.calls_written.get("mark")
    return facts, call


@pytest.mark.parametrize(
    "text",
    [
        "if hvd.size() > 1:\n    mark()\n",
        "if hvd.rank() is None:\n    mark()\n",
        "if hvd.rank() == 0:\n    pass\nmark()\n",
        "if hvd.rank() == 0:\n    x = 1\nelse:\n    x = 2\nif x:\n    mark()\n",
        "def f():\n    if hvd.rank():\n        return\n\n\nf()\nmark()\n",
        "rank = 3\nif rank == 0:\n    mark()\n",
    ],
)
def test_all_ranks_come(text: str) -> None:
    facts, mark = facts_and_mark(text)
    assert facts.rank_tests.deciding(mark) is None


@pytest.mark.parametrize(
    "text",
    [
        "if hvd.rank() == 0:\n    mark()\n",
        "if who():\n    pass\nelse:\n    mark()\n",
        "rank = hvd.rank() if many else 0\nif rank < 1:\n    mark()\n",
        "root = not hvd.local_rank()\nif verbose and root:\n    mark()\n",
        "def is_root():\n    return hvd.rank() == 0\n\n\nif is_root():\n    mark()\n",
        "x = mark() if hvd.rank() == 0 else None\n",
        "hvd.rank() == 0 and mark()\n",
        "def f():\n    if hvd.rank() != 0:\n        return\n    mark()\n",
        "for x in rows:\n    if hvd.rank() % 2:\n        continue\n    mark()\n",
    ],
)
def test_only_some_ranks_come(text: str) -> None:
    facts, mark = facts_and_mark(text)
    assert facts.rank_tests.deciding(mark) is not None
    assert facts.rank_tests.may_be_guarded(mark)


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("mark(0.1)", 0),
        ("mark(0.1 * hvd.size())", 1),
        ("rate = 0.1 * hvd.size()\nmark(rate * hvd.size())", 2),
        ("mark(256 // hvd.size())", -1),
        ("rate = 0.1\nif x:\n    rate = 0.1 * hvd.size()\nmark(rate)", None),
        ("mark(read() * hvd.size())", None),
        ("mark(0.1 * hvd.size() ** 0.5)", None),
    ],
)
def test_how_often_a_value_is_multiplied(text: str, factor: int | None) -> None:
    facts, mark = facts_and_mark(text + "\n")
    assert facts.horovod.factor(mark.args[0]) == factor
