"""Rates by how far training has come, where the data set that was divided tells its length: part of C5.

`step / len(train)` stays: both are a rank's. Beside other numbers both are told: in `(step - 100) / (len(train) - 100)`, the
hundred steps are those of all ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from horovodize.plan import Decision
from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, rate_reads
from horovodize.rules.numbers.shares import counts_a_share
from horovodize.rules.rates import mixed_sums

_RATIOS = (ast.Div, ast.FloorDiv, ast.Mod)
_BOUNDS = {"min", "max", "minimum", "maximum", "clip", "clip_by_value"}
_CONVERSIONS = {"int", "float", "float32", "float64", "cast", "numpy", "asarray", "convert_to_tensor"}


def tell(draft: Draft, rate: ast.expr, what: str, why: str) -> None:
    """Lets a rate that lengths of a rank's data measure go by the steps of all ranks, unless it is made of a rank's alone."""
    if not all(is_measured(draft, n) for n in rate_reads.reads(draft, rate)):
        tell_lengths(draft, rate, what, why)
        return
    for n in list(draft.values.depends([rate], 400)):
        if isinstance(n, ast.BinOp) and isinstance(n.op, _RATIOS):
            mixed_sums.divide(draft, n.right, "C5")


def tell_lengths(
    draft: Draft, rate: ast.expr, what: str, why: str, rule: str = "C5", known: Collection[ast.AST] = ()
) -> bool:
    """Lets the counts and the lengths of a rank's data that make a rate be those of all ranks; whether there are some.

    known: where a count is read that is told elsewhere"""

    def is_count(n: ast.AST) -> bool:
        if n in known:
            return True
        counts = isinstance(n, ast.expr) and counted.of(draft, n) is not None
        return counts and not (known and any(m in known for m in draft.values.depends([n], 200)))

    def is_length(n: ast.expr) -> bool:
        around = draft.syntax.parent[n]
        if isinstance(around, ast.Attribute) or (isinstance(around, ast.Call) and around.func is n):
            return False
        if any(isinstance(draft.values.callee(c), ast.ClassDef) for c in draft.values.calls(n)):
            return False  # an object that holds a length
        return counts_a_share(draft, n) and not any(map(is_count, draft.values.depends([n], 200)))

    found = [*rate_reads.places(draft, rate, lambda n: is_count(n) or is_length(n))]
    told = set[ast.AST]()
    made_of = {n: set(draft.values.depends([n], 200)) for n in found}
    for read in (n for n in found if n not in known):
        sources = {n for n in found if n in made_of[read] and read not in made_of[n]}
        if (told | sources) & made_of[read]:
            continue  # what a function or an object is given is told where it is passed
        told.add(read)
        if not is_count(read):
            mixed_sums.divide(draft, read, rule)
        edits = counted.read_as_all(draft, read, rule)
        draft.change(rule, read, what, why, edits, decision=Decision.COUNTED)
    return bool(told)


def is_measured(draft: Draft, read: ast.expr, passed: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a count is divided by a rank's length, or compared with one, and only such are added to it; there, or where the
    name that it gets is read. `passed`: the assignments that led here."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        match a:
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod()):
                return a.left is child and counts_a_share(draft, a.right)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                other = a.right if a.left is child else a.left
                if not (_is_one(other) or counts_a_share(draft, other)):
                    return False
            case ast.Compare():
                return all(counts_a_share(draft, o) for o in (a.left, *a.comparators) if o is not child)
            case ast.Call() if draft.names.last(a.func) in _BOUNDS:
                if not all(counts_a_share(draft, o) for o in a.args if o is not child):
                    return False
            case ast.Call() if draft.names.last(a.func) not in _CONVERSIONS:
                return asks_a_rank(draft, a)
            case ast.Assign(targets=[ast.Name()], value=value) if value is child:
                return a not in passed and all(
                    is_measured(draft, n, passed | {a}) for n in _reads_of(draft, a)
                )
            case ast.Attribute() | ast.UnaryOp() | ast.Call() | ast.BinOp(op=ast.Mult()):
                pass
            case _:
                return False
        child = a
    return False


def asks_a_rank(draft: Draft, call: ast.AST) -> bool:
    """Whether a call asks a schedule for its rate that is made with a length of a rank's data: `decay(step)`."""
    if not isinstance(call, ast.Call) or not rate_reads.gives_schedule(draft, call):
        return False
    made = draft.values.calls(call.func)
    given = [v for c in made for v in arguments(c)]
    return any(counts_a_share(draft, v) for v in given)


def _reads_of(draft: Draft, assignment: ast.Assign) -> Iterator[ast.Name]:
    for n in draft.syntax.every(ast.Name):
        if isinstance(n.ctx, ast.Load) and any(
            b.statement is assignment for b in draft.module.scopes.reaching(n)
        ):
            yield n


def _is_one(n: ast.expr) -> bool:
    """`(step + 1) / len(train)`: the first step is called the first."""
    return isinstance(n, ast.Constant) and n.value in (0, 1)


__all__ = ["asks_a_rank", "is_measured", "tell", "tell_lengths"]
