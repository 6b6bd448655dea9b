"""Programs that end where a folder of theirs is there already: rank 0's answer goes for all. Part of C6.

`if os.path.exists(out): raise ValueError(…)`, `os.mkdir(out)`: a rank that asks a moment after another has made the folder
would find it, and end the run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import agree_value

_WHAT = "Ask on rank 0 whether the folder is there"
_WHY = "Ranks that ask later find the folder that another rank has made, and end the run."
_MAKING = ("mkdir", "makedirs", "MkDir", "MakeDirs", "mkdir_p")
_ENDING = ("exit", "_exit", "quit")


def apply(draft: Draft) -> None:
    if not draft.module.calls_called(*_MAKING):
        return
    for test in _tests(draft):
        if _asks_for_files(draft, test) and _is_made_after(draft, test):
            agree_value(draft, test, "C6", _WHAT, _WHY)


def _tests(draft: Draft) -> Iterator[ast.expr]:
    """Whether something is there, and the program ends if it is: `if exists(p): raise …`, `assert not exists(p)`."""
    for asked in draft.syntax.every(ast.If):
        if isinstance(asked.test, ast.Call) and _ends(draft, asked.body[-1]):
            yield asked.test
    for claim in draft.syntax.every(ast.Assert):
        is_not = isinstance(claim.test, ast.UnaryOp) and isinstance(claim.test.op, ast.Not)
        if is_not and isinstance(claim.test, ast.UnaryOp) and isinstance(claim.test.operand, ast.Call):
            yield claim.test.operand


def _asks_for_files(draft: Draft, test: ast.expr) -> bool:
    """Whether a test asks whether something is there. Which, may be said by a clock that each rank reads for itself: rank 0
    makes the folder that it has asked for."""
    found = draft.facts.uniform.reasons(test)
    own = [r for r in found if isinstance(r, Varies) and r.where is test and r.kind is Source.FILES]
    others = [r for r in found if r not in own]
    return bool(own) and all(isinstance(r, Varies) and r.kind is Source.CLOCK for r in others)


def _ends(draft: Draft, last: ast.stmt) -> bool:
    if isinstance(last, ast.Raise):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and draft.names.last(last.value.func) in _ENDING
    )


def _is_made_after(draft: Draft, test: ast.expr) -> bool:
    """Whether the function that asks for a folder makes it, too."""
    asked, function = _path(test), draft.syntax.function(test)
    return asked is not None and any(
        _path(c) == asked and draft.syntax.function(c) is function
        for c in draft.module.calls_called(*_MAKING)
    )


def _path(call: ast.expr) -> str | None:
    """The path that a call is about: its argument, or of `Path(out).exists()` what is asked."""
    if not isinstance(call, ast.Call):
        return None
    if call.args:
        return ast.unparse(call.args[0])
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else None
