"""Annotated assignments are read as plain ones."""

from __future__ import annotations

import ast

import pytest

from horovodize.source import Document


def kinds(text: str) -> list[str]:
    tree = Document(text).tree
    assert tree is not None
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.Assign, ast.AnnAssign))]
    return [f"{type(n).__name__} {n.lineno}" for n in sorted(found, key=lambda n: n.lineno)]


@pytest.mark.parametrize(
    "text",
    [
        "rate: float = 0.1\n",
        "def f():\n    self.rate: float = 0.1\n",
        "if a:\n    pass\nelse:\n    for x in y:\n        rate: 'float' = 0.1\n",
        "try:\n    rate: list[int] = []\nexcept E:\n    rate : int = 0\n",
    ],
)
def test_they_are_plain(text: str) -> None:
    assert all(kind.startswith("Assign ") for kind in kinds(text))


def test_where_they_stand_is_kept() -> None:
    tree = Document("x = 1\nrate: float = (\n    0.1)\n").tree
    assert tree is not None
    made = tree.body[1]
    assert isinstance(made, ast.Assign)
    assert (made.lineno, made.end_lineno, ast.unparse(made)) == (2, 3, "rate = 0.1")


@pytest.mark.parametrize("text", ["class Settings:\n    rate: float = 0.1\n", "rate: float\n"])
def test_fields_of_classes_and_what_sets_nothing_stay(text: str) -> None:
    assert all(kind.startswith("AnnAssign") for kind in kinds(text))


def test_a_method_of_a_class_with_fields() -> None:
    assert kinds("class S:\n    rate: float = 0.1\n    def f(self):\n        x: int = 0\n") == [
        "AnnAssign 2",
        "Assign 4",
    ]


def test_in_a_later_version_too() -> None:
    first = Document("a = 1\n\n\ndef f():\n    b = 2\n")
    assert first.tree is not None
    second = first.changed_to("a = 1\n\n\ndef f():\n    b: int = 2\n")
    assert second.tree is not None
    assert not [n for n in ast.walk(second.tree) if isinstance(n, ast.AnnAssign)]
