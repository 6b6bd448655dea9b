"""Which numbers are always the same, and which are counted."""

from __future__ import annotations

import ast

import pytest

from horovodize.source import Document
from horovodize.summary import summarize
from horovodize.summary.feeding import Feeding


@pytest.mark.parametrize(
    ("program", "constant"),
    [
        ("n = 5\nshow(n)", 5),
        ("def f():\n    n = 5\n    show(n)", 5),
        ("class A:\n    def __init__(self):\n        self.n = 5\n    def f(self):\n        show(self.n)", 5),
        ("n = 0\nfor b in batches:\n    n += 1\nshow(n)", None),
        ("n = 0\nfor b in batches:\n    n = n + 1\nshow(n)", None),
        ("def f():\n    n = 0\n    for b in batches:\n        n += 1\n    show(n)", None),
        ("n = 10\nn -= 1\nshow(n)", None),
        (
            "class A:\n    def __init__(self):\n        self.n = 0\n"
            "    def f(self):\n        self.n += 1\n        show(self.n)",
            None,
        ),
        # another name of that kind, and one that is set again after it was counted
        ("n = 5\ndef f():\n    n = 0\n    n += 1\nshow(n)", 5),
        ("n = 0\nfor b in batches:\n    n += 1\nn = 5\nshow(n)", 5),
    ],
)
def test_a_number_that_is_counted_is_none_that_is_known(program: str, constant: int | None) -> None:
    read = summarize(Document.from_bytes(f"import tensorflow as tf\n{program}".encode(), "program.py"))
    assert read.module is not None
    assert read.sites is not None
    assert read.drive is not None
    (call,) = [c for c in read.module.syntax.calls if isinstance(c.func, ast.Name) and c.func.id == "show"]
    assert Feeding(read.module, read.sites, read.drive).kinds.constant(call.args[0]) == constant
