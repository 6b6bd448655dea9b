"""A text that changes is parsed as if it were new, though most of its tree is kept."""

from __future__ import annotations

import ast

import pytest

from horovodize.source import Document
from horovodize.source.reparse import difference

SCRIPT = """\
import os

x = [
    1,
]


@decorated(
    by=x
)
def first(a):
    return a


class Second:
    pass


if x:
    pass
y = 1; z = 2
w = 3
"""


def dump(document: Document) -> str | None:
    return None if document.tree is None else ast.dump(document.tree, include_attributes=True)


CHANGES = {
    "a character in the middle": ("return a", "return ab"),
    "a line more": ("    return a\n", "    a = 1\n    return a\n"),
    "a line less": ("    1,\n", ""),
    "at the very beginning": ("import os", "import sys\nimport os"),
    "at the very end": ("w = 3\n", "w = 3\nv"),
    "nothing at the end": ("w = 3\n", ""),
    "an else behind an if": ("    pass\ny = 1", "    pass\nelse:\n    pass\ny = 1"),
    "an if before what becomes its else": ("if x:\n    pass\ny = 1; z = 2", "y = 1; z = 2"),
    "a string that swallows what follows": ("import os", 'import os\n"""'),
    "a bracket": ("    1,\n]", "    1,\n"),
    "a line that goes on": ("import os\n", "import os\\\n"),
    "a statement that goes on": ("w = 3", "; \\\nw = 3"),
    "a decorator before a decorator": ("@decorated", "@other\n@decorated"),
    "a decorator of a class": ("\n\nclass", "\n@other\nclass"),
    "a decorator of nothing": ("w = 3\n", "@w\n"),
    "one of two on a line": ("y = 1", "y = 10"),
    "the other of two on a line": ("z = 2", "z = 20"),
    "two lines made one": ("z = 2\nw", "z = 2; w"),
    "a form feed": ("w = 3", "\fw = 3"),
    "indentation": ("w = 3", "  w = 3"),
    "a comment": ("w = 3", "# w = 3"),
    "nothing left": (SCRIPT, ""),
    "everything new": (SCRIPT, "a\nb\n"),
    "other line ends": ("\n", "\r\n"),
    "half of a line end": ("w = 3\n", "w = 3\r"),
    "wide characters": ("import os", "import os; é = '𝒳'"),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_change_gives_the_tree_of_the_new_text(old: str, new: str) -> None:
    text = SCRIPT.replace(old, new)
    for before, after in [(SCRIPT, text), (text, SCRIPT)]:
        document = Document(before)
        assert document.outline if document.tree else True
        changed, fresh = document.changed_to(after), Document(after)
        assert dump(changed) == dump(fresh)
        assert changed.problem == fresh.problem
        assert changed.lines.starts == fresh.lines.starts


def test_only_what_changed_is_parsed_again() -> None:
    document = Document(SCRIPT)
    assert document.tree is not None
    kept = [s for s in document.tree.body if not isinstance(s, ast.ClassDef)]
    changed = document.changed_to(
        SCRIPT.replace("class Second:\n    pass", "class Third:\n    a = 1\n    pass")
    )
    assert changed.tree is not None
    assert [s for s in changed.tree.body if any(s is k for k in kept)] == kept
    assert kept[-1].lineno == 23


def test_a_version_that_does_not_parse_leaves_the_last_tree_for_the_next() -> None:
    document = Document(SCRIPT)
    assert document.tree is not None
    kept = document.tree.body[0]
    broken = document.changed_to(SCRIPT + "(")
    assert broken.problem is not None
    assert document.is_parsed
    mended = broken.changed_to(SCRIPT + "()")
    assert mended.tree is not None
    assert mended.tree.body[0] is kept


def test_an_old_version_can_still_be_asked() -> None:
    document = Document(SCRIPT)
    before = dump(document)
    assert document.changed_to("v = 0\n" + SCRIPT).tree is not None
    assert dump(document) == before


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", (0, 0)),
        ("abc", "abc", (3, 3)),
        ("abc", "axc", (1, 2)),
        ("aa", "aaa", (2, 2)),
        ("aaa", "aa", (2, 3)),
    ],
)
def test_the_difference_of_texts(old: str, new: str, expected: tuple[int, int]) -> None:
    assert difference(old, new) == expected
