"""Sizes that a count is compared with: a memory of 10,000 rows is full after 10,000, on each rank. Part of G5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counters import CounterKind
from horovodize.rules import counted
from horovodize.rules.draft import Draft
from horovodize.summary.syntax import argument

_KEPT = (
    "this is the size of what is filled here, so it is not divided: on each rank it is full after as many of its own steps, "
    "which are size() times as many rows; with fewer steps a rank never fills it, and what waits for that never happens"
)
# What makes or draws as many rows as a number says, and where that number stands: the parameter and its place.
_SIZED: dict[str, tuple[tuple[str, int | None], ...]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "ndarray"), (("shape", 0),)),
    "deque": (("maxlen", 1),),
    "choice": (("a", 0), ("size", 1)),
    "randint": (("low", 0), ("high", 1), ("size", 2)),
    "permutation": (("x", 0),),
    "sample": (("k", 1),),
    "randrange": (("start", 0), ("stop", 1)),
}


def keeps(draft: Draft, test: ast.expr, count: ast.expr, bound: ast.expr) -> bool:
    """Whether a bound stays as it is, for it is how much something holds that is filled by the count, or drawn from."""
    if not draft.divided or not _is_capacity(draft, test, count, bound):
        return False
    draft.note("G5", test, _KEPT)
    return True


def _is_capacity(draft: Draft, test: ast.expr, count: ast.expr, bound: ast.expr) -> bool:
    plus = isinstance(count, ast.BinOp) and isinstance(count.right, ast.Constant)
    count = count.left if plus and isinstance(count, ast.BinOp) else count
    counter = counted.of(draft, count)
    if counter is None or counter.kind is not CounterKind.NUMBER or _leaves_a_loop(draft, test):
        return False
    made = _made_of(draft, bound)
    for driver in counter.drivers:  # how long training goes on is divided, whatever else is as long
        e = driver.iterable if driver.iterable is not None else getattr(driver.loop, "test", None)
        if e is not None and made & _made_of(draft, e):
            return False
    return any(made & _made_of(draft, size) for size in _sizes(draft)) or _fills(draft, count)


def _leaves_a_loop(draft: Draft, test: ast.expr) -> bool:
    statement = draft.syntax.statement(test)
    return isinstance(statement, ast.If) and any(isinstance(s, ast.Break) for s in statement.body)


def _made_of(draft: Draft, e: ast.expr) -> set[object]:
    """What tells whether two expressions give the same number: the numbers and parameters that they come from."""
    found: set[object] = {
        n
        for n in draft.values.depends([e], 60)
        if isinstance(n, ast.arg) or (isinstance(n, ast.Constant) and type(n.value) is int and n.value > 1)
    }
    return found | {ast.unparse(n) for n in ast.walk(e) if isinstance(n, ast.Attribute)}


def _sizes(draft: Draft) -> Iterator[ast.expr]:
    """The expressions that say how many rows something has."""
    for call in draft.syntax.calls:
        for parameter, place in _SIZED.get(draft.names.last(call.func), ()):
            given = argument(call, parameter, place)
            if isinstance(given, (ast.Tuple, ast.List)):
                yield from given.elts[:1]
            elif given is not None:
                yield given


def _fills(draft: Draft, count: ast.expr) -> bool:
    """Whether a count says which row is written next: `memory[pointer % capacity] = row`."""
    counter = draft.facts.counters.of(count)
    return any(
        any(c is counter for n in draft.values.depends([s.slice], 60) if isinstance(n, ast.expr)
            for _, c in draft.facts.counters.reads(n))
        for s in draft.syntax.every(ast.Subscript)
        if isinstance(s.ctx, ast.Store)
    )  # fmt: skip
