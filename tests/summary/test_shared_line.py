"""Statements that share a line, and lines of their own for them."""

from __future__ import annotations

import ast

import pytest

from horovodize.python.shared_line import shared_line

from .reading import module


def parted(source: str) -> str | None:
    """The text with the statements of the line on which `step()` stands on lines of their own."""
    read = module(source)
    step = next(
        n for n in read.syntax.every(ast.Call) if isinstance(n.func, ast.Name) and n.func.id == "step"
    )
    shared = shared_line(read, read.syntax.statement(step))
    if shared is None:
        return None
    indent = read.document.indentation(shared.statements[0]) + ("    " if shared.is_suite else "")
    text = source
    for gap in reversed(shared.gaps):
        text = text[: gap.start] + "\n" + indent + text[gap.end :]
    return text


@pytest.mark.parametrize(
    "source",
    [
        "step()\n",
        "a = 1; step(); print(a)\n",
        "if a:\n    step() ;b = 2  # two\n",
        "for x in y: step(); a = x  # all\n",
        "if a: step()\nelse: b = 1\n",
        "if a: b = 1\nelse: step()\n",
        "while a[1:2]: step(); break\n",
        "with a as b: step()\n",
        "try: step()\nexcept E: pass\nfinally: a = 1\n",
        "def f(a={1: 2}): step(); return a\n",
        "class C: a = step(); b = 2\n",
        "a = '''\n;'''; step(); b = (\n    1\n); c = 2\n",
        "for x in y:\tstep()\n",
        "if a: step(';'); b = ':'\n",
    ],
)
def test_the_program_stays_the_same(source: str) -> None:
    text = parted(source)
    assert text is not None
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    assert [part.strip() for part in text.split("#")[1:]] == [part.strip() for part in source.split("#")[1:]]
    own = next(i for i, line in enumerate(text.splitlines(), 1) if "step(" in line)
    statements = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
    assert [n.lineno for n in statements].count(own) == 1


@pytest.mark.parametrize("source", ["step(); \\\na = 1\n", "a = 1; \\\nstep()\n", "if a: \\\n    step()\n"])
def test_lines_that_a_backslash_joins_are_not_parted(source: str) -> None:
    assert parted(source) is None
