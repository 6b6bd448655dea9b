"""What a generator counts of its own batches, where each rank draws from its own: part of K4, D1 and G4.

    n = 0
    while True:
        yield make(min(1.0, n / 150))
        n += 1

A rank draws size() times fewer batches, so its count goes on by those of all ranks, and what is made of it changes as fast for
the rows that are seen. A number that selects rows stays as it is; where it can't be seen what a count does, it is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.calls import is_known
from horovodize.rules.draft import SIZE, Draft
from horovodize.source import Edit
from horovodize.summary.augmented import Augmented, added
from horovodize.summary.syntax import Function

_WHAT = "Let the generator count the batches of all ranks"
_WHY = "Each rank draws size() times fewer batches; what this is counted for goes by how much has been seen."
_DOUBT = (
    "this counts the batches that one rank draws, size() times fewer than before: check that what goes by it changes as fast "
    "for the rows that are seen"
)
_PASSING = (ast.Expr, ast.Pass)


def count_all(draft: Draft, rule: str, generator: Function) -> None:
    """Lets a generator, from which each rank draws batches of its own, count those of all ranks."""
    for counted, name in _counts(draft, generator):
        reads = [n for n in ast.walk(generator) if _is_read(n, name) and _matters(draft, generator, n)]
        if not reads or any(_selects(draft, n) for n in reads) or not draft.once("own count", counted):
            continue
        if all(_is_in_formula(draft, n) for n in reads):
            draft.change(rule, counted, _WHAT, _WHY, _by_size(draft, counted))
        else:
            draft.ask(rule, counted, _WHAT, _WHY, _DOUBT)


def _counts(draft: Draft, generator: Function) -> Iterator[tuple[ast.expr, str]]:
    """(by what the turns of a loop without end are counted, the count): `n += 1` under `while True:`, `for n in count():`"""
    for loop in (n for n in ast.walk(generator) if isinstance(n, (ast.While, ast.For))):
        if draft.syntax.function(loop) is not generator or not _yields_once(draft, loop):
            continue
        if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value:
            for s in loop.body:
                count = added(s)
                if count is not None and _is_count(draft, s, count, loop):
                    yield count.value, ast.unparse(count.target)
        elif isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
            e = loop.iter
            if isinstance(e, ast.Call) and draft.names.of(e.func) == "itertools.count":
                if len(e.args) < 2 and not e.keywords:
                    yield e, loop.target.id


def _yields_once(draft: Draft, loop: ast.While | ast.For) -> bool:
    """Whether each turn of a loop gives one batch."""
    given = [n for n in ast.walk(loop) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    return (
        len(given) == 1 and isinstance(given[0], ast.Yield) and draft.syntax.statement(given[0]) in loop.body
    )


def _is_count(draft: Draft, s: ast.stmt, count: Augmented, loop: ast.While) -> bool:
    """`n += 1`, of a name of the generator's own that isn't set back in the loop"""
    by_one = isinstance(count.value, ast.Constant) and count.value.value == 1
    if not by_one or not isinstance(count.target, ast.Name):
        return False
    home = draft.module.scopes.lookup(count.target.id, s)
    bound = draft.module.scopes.names[home].get(count.target.id, []) if home is not None else []
    return home is draft.syntax.function(loop) and not any(
        b.statement is not s and draft.syntax.inside(b.statement, loop) for b in bound
    )


def _is_read(n: ast.AST, name: str) -> bool:
    return isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)


def _matters(draft: Draft, generator: Function, read: ast.AST) -> bool:
    """Whether a batch is made of a count, or it decides about more than what is printed."""
    given = [n.value for n in ast.walk(generator) if isinstance(n, ast.Yield) and n.value is not None]
    if read in draft.values.depends(given, 800):
        return True
    return any(
        isinstance(a, ast.If)
        and draft.syntax.inside(read, a.test)
        and any(isinstance(s, ast.stmt) and not isinstance(s, _PASSING) for b in a.body for s in ast.walk(b))
        for a in draft.syntax.ancestors(read)
    )


def _selects(draft: Draft, read: ast.AST) -> bool:
    """Whether a count goes round (`n % len(names)`), or stands in a slice: by it rows are selected."""
    around = [a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.expr, ast.stmt))]
    tested = any(isinstance(a, ast.Compare) for a in around)
    goes_round = any(isinstance(a, ast.BinOp) and isinstance(a.op, ast.Mod) for a in around)
    return any(isinstance(a, ast.Slice) for a in around) or (goes_round and not tested)


def _is_in_formula(draft: Draft, read: ast.AST) -> bool:
    """Whether a count is computed with, or compared as more or less: it may go on by more than one."""
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.stmt):
            return True
        if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Mod):
            return False
        if isinstance(a, ast.Compare) and any(
            isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in a.ops
        ):
            return False
        if isinstance(a, ast.Call) and not _is_seen(draft, a):
            return False
    return True


def _is_seen(draft: Draft, call: ast.Call) -> bool:
    """Whether it can be seen what a call does: a function of the program, of Python or of a library that is known."""
    if draft.values.callee(call) is not None or is_known(draft.names.of(call.func) or ""):
        return True
    method = isinstance(call.func, ast.Attribute) and draft.names.of(call.func) is None
    return method or draft.module.scopes.is_builtin(call.func)


def _by_size(draft: Draft, counted: ast.expr) -> list[Edit]:
    """`n += hvd.size()`, `itertools.count(step=hvd.size())`"""
    if isinstance(counted, ast.Call):
        return [draft.add_argument(counted, f"step={SIZE}")]
    return [Edit(draft.module.span(counted), SIZE)]


__all__ = ["count_all"]
