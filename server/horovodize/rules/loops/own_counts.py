"""What a generator counts of its own batches, where each rank draws from its own: part of K4, D1 and G4.

    n = 0
    while True:
        yield make(min(1.0, n / 150))
        n += 1

A rank draws size() times fewer batches, so its count goes on by those of all ranks, and what is made of it changes as fast for
the rows that are seen. Likewise a count of rows (`n += 32`), one that a field or the module keeps, and the number of a loop's
turn. A number that selects rows stays as it is; where it can't be seen what a count does, it is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from horovodize.facts.differences.known_calls import is_known
from horovodize.python.augmented import added
from horovodize.python.syntax import FUNCTIONS, Function, is_forever
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.loops.selecting_counts import select_rows
from horovodize.source import Edit

_WHAT = "Let the generator count the batches of all ranks"
_WHY = "Each rank draws size() times fewer batches; what this is counted for goes by how much has been seen."
_DOUBT = (
    "this counts the batches that one rank draws, size() times fewer than before: check that what goes by it changes as fast "
    "for the rows that are seen"
)
_PASSING = (ast.Expr, ast.Pass)
_LIMIT = 800


class _Count(NamedTuple):
    """What goes on with each batch of a generator.

    by      by what it is counted: the `1` of `n += 1`, or the call of `range` or `itertools.count`
    target  what is counted
    kept    whether that is a field or a name of the module, which others may read"""

    by: ast.expr
    target: ast.Name | ast.Attribute
    kept: bool


def count_all(draft: Draft, rule: str, generator: Function) -> None:
    """Lets a generator, from which each rank draws batches of its own, count those of all ranks."""
    for count in _counts(draft, generator):
        every = [n for n in _reads(draft, generator, count) if not draft.syntax.inside(n, count.by)]
        reads = [n for n in every if _matters(draft, generator, n)]
        if not reads or select_rows(draft, generator, reads) or not draft.once("own count", count.by):
            continue
        others = [n for n in every if n not in reads and not draft.syntax.inside(n, generator)]
        if all(_is_in_formula(draft, n) for n in reads) and not others:
            draft.change(rule, count.by, _WHAT, _WHY, _by_size(draft, count.by))
        else:
            draft.ask(rule, count.by, _WHAT, _WHY, _DOUBT)


def _counts(draft: Draft, generator: Function) -> Iterator[_Count]:
    """`n += 1` beside the yield, in a loop without end or over a pass of what was drawn; `for n in count():`"""
    for loop in (n for n in ast.walk(generator) if isinstance(n, (ast.While, ast.For))):
        if draft.syntax.function(loop) is not generator or not _yields_once(draft, loop):
            continue
        if is_forever(loop) or isinstance(loop, ast.For):
            yield from _counted_in(draft, generator, loop)
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and _is_numbered(draft, loop.iter):
            yield _Count(loop.iter, loop.target, False)


def _counted_in(draft: Draft, generator: Function, loop: ast.While | ast.For) -> Iterator[_Count]:
    for s in loop.body:
        count = added(s)
        if count is None or not _is_fixed(draft, count.value, loop):
            continue
        if (
            isinstance(count.target, ast.Name)
            and (kept := _kept(draft, s, count.target, generator)) is not None
        ):
            yield _Count(count.value, count.target, kept)
        elif isinstance(count.target, ast.Attribute) and _is_only_begun(draft, s, count.target):
            yield _Count(count.value, count.target, True)


def _is_numbered(draft: Draft, e: ast.expr) -> bool:
    """`itertools.count()`, `range(n)`, each of whose numbers is one more than the last"""
    if not isinstance(e, ast.Call) or e.keywords or any(isinstance(a, ast.Starred) for a in e.args):
        return False
    if draft.names.of(e.func) == "itertools.count":
        return len(e.args) < 2
    is_range = (
        isinstance(e.func, ast.Name) and e.func.id == "range" and draft.module.scopes.is_builtin(e.func)
    )
    return is_range and 0 < len(e.args) < 3


def _yields_once(draft: Draft, loop: ast.While | ast.For) -> bool:
    """Whether each turn of a loop gives one batch."""
    given = [n for n in ast.walk(loop) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    return (
        len(given) == 1 and isinstance(given[0], ast.Yield) and draft.syntax.statement(given[0]) in loop.body
    )


def _is_fixed(draft: Draft, value: ast.expr, loop: ast.While | ast.For) -> bool:
    """Whether as much is added in each turn: `1`, or how many rows a batch has, `32` or a name that the loop doesn't set."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int) and not isinstance(value.value, bool) and value.value > 0
    return isinstance(value, ast.Name) and not any(
        isinstance(n, ast.Name) and n.id == value.id and not isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _kept(draft: Draft, s: ast.stmt, counted: ast.Name, generator: Function) -> bool | None:
    """Whether a name that is only begun outside of loops, and then counted on, is one of the module; None where it is set
    elsewhere, too."""
    home = draft.module.scopes.lookup(counted.id, s)
    bound = draft.module.scopes.names[home].get(counted.id, []) if home is not None else []
    others = [b.statement for b in bound if b.statement is not s]
    if home is generator:
        return None if any(draft.syntax.loops(o) for o in others) else False
    is_begun = all(draft.syntax.function(o) is None and not draft.syntax.loops(o) for o in others)
    return True if is_begun and isinstance(home, ast.Module) else None


def _is_only_begun(draft: Draft, s: ast.stmt, counted: ast.Attribute) -> bool:
    """Whether a field of this name is otherwise set only where objects are made."""
    others = [
        b.statement for b in draft.module.scopes.attributes.get(counted.attr, ()) if b.statement is not s
    ]
    made = [draft.syntax.function(o) for o in others]
    return bool(made) and all(isinstance(f, FUNCTIONS) and f.name == "__init__" for f in made)


def _reads(draft: Draft, generator: Function, count: _Count) -> list[ast.AST]:
    if isinstance(count.target, ast.Attribute):
        fields = draft.syntax.every(ast.Attribute)
        return [n for n in fields if n.attr == count.target.attr and isinstance(n.ctx, ast.Load)]
    name, scopes = count.target.id, draft.module.scopes
    nodes = draft.syntax.every(ast.Name) if count.kept else ast.walk(generator)
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    home = scopes.lookup(name, count.target)
    return [n for n in read if scopes.lookup(name, n) is home]


def _matters(draft: Draft, generator: Function, read: ast.AST) -> bool:
    """Whether a batch is made of a count, or it decides about more than what is printed."""
    given = [n.value for n in ast.walk(generator) if isinstance(n, ast.Yield) and n.value is not None]
    if read in draft.values.depends(given, _LIMIT):
        return True
    return draft.syntax.inside(read, generator) and any(
        isinstance(a, ast.If)
        and draft.syntax.inside(read, a.test)
        and any(isinstance(s, ast.stmt) and not isinstance(s, _PASSING) for b in a.body for s in ast.walk(b))
        for a in draft.syntax.ancestors(read)
    )


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
    """`n += hvd.size()`, `n += 32 * hvd.size()`, `itertools.count(step=hvd.size())`, `range(0, n, hvd.size())`"""
    span = draft.module.span(counted)
    if not isinstance(counted, ast.Call):
        is_one = isinstance(counted, ast.Constant) and counted.value == 1
        return [Edit(span, SIZE)] if is_one else [Edit.insert(span.end, f" * {SIZE}")]
    if draft.names.of(counted.func) == "itertools.count":
        return [draft.add_argument(counted, f"step={SIZE}")]
    first, last = draft.module.span(counted.args[0]), draft.module.span(counted.args[-1])
    begun = [Edit.insert(first.start, "0, ")] if len(counted.args) == 1 else []
    return [*begun, Edit.insert(last.end, f", {SIZE}")]


__all__ = ["count_all"]
