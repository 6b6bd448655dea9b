"""Edits are verified piece by piece, with the same answer as the whole text would give."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source import Document, Edit, Span
from horovodize.source.edits import apply

_TEXT = '''\
import os
@(
    os
)
def f(x):
    return """
x
"""
a = 1; b = 2
c = \\
    3
if a:
    b = (1,
2)
elif b: pass
else:
    pass
# the end
class C: pass'''
_INSERTED = [
    "", "\n", " ", "else:\n    pass\n", "    pass\n", "(", ")", "x = 1\n", "\\", "\\\n", '"""', "if a:\n", "if a:\n    ",
    "@os\n", "#", ";", "pass", "\r", "\x0c",
]  # fmt: skip


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _verifies(text: str, edits: list[Edit]) -> bool:
    try:
        Document(text).verify(edits)
    except SyntaxError:
        return False
    return True


@st.composite
def _edits(draw: st.DrawFn) -> list[Edit]:
    ends = sorted(draw(st.lists(st.integers(0, len(_TEXT)), min_size=2, max_size=6)))
    empty = draw(st.booleans())
    return [
        Edit(Span(start, start if empty else end), draw(st.sampled_from(_INSERTED)))
        for start, end in zip(ends[::2], ends[1::2], strict=False)
    ]


@given(_edits())
def test_the_answer_is_that_of_the_whole_text(edits: list[Edit]) -> None:
    assert _verifies(_TEXT, edits) == _parses(apply(_TEXT, edits))


@pytest.mark.parametrize("inserted", _INSERTED)
def test_insertions_everywhere(inserted: str) -> None:
    for offset in range(len(_TEXT) + 1):
        edits = [Edit.insert(offset, inserted)]
        assert _verifies(_TEXT, edits) == _parses(apply(_TEXT, edits)), (offset, inserted)


def test_only_what_is_touched_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"x_{i} = {i}" for i in range(1000))
    document = Document(text)
    assert document.tree is not None
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(source) or parse(source))
    document.verify([Edit.insert(text.index("x_500"), "if True:\n    ")])
    assert sum(map(len, parsed)) < 100
