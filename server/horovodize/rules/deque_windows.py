"""Windows over a rank's last losses by which it decides: part of G7.

`window = deque(maxlen=20)` that each step appends its loss to holds the losses of 20 steps. A rank takes size() times fewer, so
20 of its own stand for size() times as many rows: where something is decided by their mean, the window holds 1/size() of them,
and so do the tests of whether it is full, `len(window) == 20`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules import counted
from horovodize.rules.draft import Draft
from horovodize.rules.lengths import growing
from horovodize.rules.mixtures import WHAT, WHY
from horovodize.rules.unseen_counts import is_shown
from horovodize.summary.syntax import argument

_SUMMING = ("sum", "reduce_sum", "fsum")
_MEANS = ("mean", "nanmean", "average", "reduce_mean", "fmean", "median", "std", *_SUMMING)
_SUMS = (
    "this holds what the last steps of a rank gave, which stand for size() times as many rows, and their sum is taken: let it "
    "hold 1/size() of them, and what goes by the sum with it"
)


def look_at_as_many(draft: Draft) -> None:
    """Divides the lengths of such windows."""
    if not draft.options.split_data or not draft.divided:
        return
    for made in draft.module.calls_of("collections.deque"):
        length = argument(made, "maxlen", 1)
        number = draft.facts.feeding.kinds.constant(length) if length is not None else None
        held = _held(draft, made)
        if length is None or number is None or number < 2 or held is None or not _decides(draft, made, held):
            continue
        grows = [
            c
            for c in growing(draft, held)
            if isinstance(c, ast.Call) and draft.names.last(c.func) == "append"
        ]
        if len(grows) != 1 or not counted.is_by_step(draft, grows[0]):
            continue
        divisors = _divisors(draft, made, number)
        if divisors is None:
            if draft.once("window of sums", made):
                draft.ask("G7", length, WHAT, WHY, _SUMS)
            continue
        for e in (length, *_tested(draft, made, number), *divisors):
            draft.change("G7", e, WHAT, WHY, counted.over_ranks(draft, e, "G7"))


def _held(draft: Draft, made: ast.Call) -> ast.Name | ast.Attribute | None:
    """The name that a window has, where it is made."""
    statement = draft.syntax.statement(made)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is made else None
    if isinstance(statement, ast.AnnAssign) and statement.value is made:
        target = statement.target
    return target if isinstance(target, (ast.Name, ast.Attribute)) else None


def _reads(draft: Draft, made: ast.Call) -> Iterator[ast.expr]:
    """Where a window is read."""
    held = _held(draft, made)
    last = held.id if isinstance(held, ast.Name) else held.attr if held is not None else ""
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        called = n.id if isinstance(n, ast.Name) else n.attr
        if (
            called == last
            and isinstance(n.ctx, ast.Load)
            and any(o.node is made for o in draft.values.origins(n))
        ):
            yield n


def _decides(draft: Draft, made: ast.Call, held: ast.expr) -> bool:
    """Whether a mean over a window is for more than to be shown."""
    for read in _reads(draft, made):
        call = draft.syntax.parent[read]
        is_mean = isinstance(call, ast.Call) and read in call.args and draft.names.last(call.func) in _MEANS
        if is_mean and not is_shown(draft, read):
            return True
    return False


def _divisors(draft: Draft, made: ast.Call, number: int) -> list[ast.expr] | None:
    """`20` of `sum(window) / 20`; None where a sum over a window is not divided by how many it holds."""
    found = list[ast.expr]()
    for read in _reads(draft, made):
        call = draft.syntax.parent[read]
        if (
            not isinstance(call, ast.Call)
            or draft.names.last(call.func) not in _SUMMING
            or read not in call.args
        ):
            continue
        match draft.syntax.parent[call]:
            case ast.BinOp(op=ast.Div(), left=left, right=ast.Call(func=ast.Name(id="len"))) if left is call:
                pass
            case ast.BinOp(op=ast.Div(), left=left, right=by) if (
                left is call and draft.facts.feeding.kinds.constant(by) == number
            ):
                found.append(by)
            case _:
                return None
    return found


def _tested(draft: Draft, made: ast.Call, number: int) -> Iterator[ast.expr]:
    """`20` of `len(window) == 20`"""
    reads = set(_reads(draft, made))
    for test in draft.syntax.every(ast.Compare):
        match test:
            case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[held]), comparators=[most]) if (
                held in reads
            ):
                if draft.facts.feeding.kinds.constant(most) == number:
                    yield most


__all__ = ["look_at_as_many"]
