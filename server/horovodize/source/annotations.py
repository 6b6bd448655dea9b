"""Annotated assignments as plain ones: `rate: float = 0.1` sets what `rate = 0.1` sets.

Who reads a syntax tree then meets one kind of assignment. In the body of a class they stay as they are: there an annotation
makes a field of a dataclass."""

from __future__ import annotations

import ast
import re

from horovodize.source.nodes import walk

_MAY_BE = re.compile(r"^[ \t]*[\w.\[\]'\"]+[ \t]*:[^=\n]*=[^=]", re.M)
_BLOCKS = ("body", "orelse", "finalbody")


def without_annotations(text: str, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a text, in which annotated assignments are replaced by plain ones, in place."""
    if _MAY_BE.search(text):
        _replace_in(statements)
        for holder in [n for s in statements for n in walk(s) if not isinstance(n, ast.ClassDef)]:
            for field in _BLOCKS:
                block = getattr(holder, field, None)
                if isinstance(block, list):
                    _replace_in(block)
    return statements


def _replace_in(block: list[ast.stmt]) -> None:
    for i, statement in enumerate(block):
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            plain = ast.Assign(targets=[statement.target], value=statement.value, type_comment=None)
            block[i] = ast.copy_location(plain, statement)
