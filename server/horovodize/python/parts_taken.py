"""Which rows a subscript takes: by a slice, also one that has a name, as `mine = slice(hvd.rank(), None, hvd.size())`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from horovodize.python.module import Module
from horovodize.python.syntax import says_none


class Part(NamedTuple):
    """The first row, the one after the last, and the stride; None of what isn't given."""

    lower: ast.expr | None
    upper: ast.expr | None
    step: ast.expr | None


def part_taken(module: Module, at: ast.expr) -> Part | None:
    """What a subscript's own expression takes; None where that isn't a slice, or not surely one."""
    if isinstance(at, ast.Slice):
        return Part(at.lower, at.upper, at.step)
    if not isinstance(at, (ast.Name, ast.Attribute, ast.Call)):
        return None
    origins = module.values.origins(at)
    call = origins[0].call if len(origins) == 1 and not origins[0].path else None
    if call is None or not isinstance(call.func, ast.Name) or call.func.id != "slice" or call.keywords:
        return None
    if module.scopes.lookup("slice", call.func) is not None or not 1 <= len(call.args) <= 3:
        return None
    if any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given = [None if says_none(a) else a for a in call.args]
    lower, upper, step = [None, *given, None] if len(given) == 1 else [*given, None][:3]
    return Part(lower, upper, step)
