"""The last items of a list that gets one with each step, by which something is decided: part of G7.

`if np.mean(losses[-window:]) > np.mean(losses[-2 * window:-window]): break` looks at the last steps of one process. A rank
takes size() times fewer, of size() times as many rows each, so it looks at 1/size() as many of its own. (`deciding_averages`
has those whose mean over the ranks is taken, and whose number is written out.) Likewise of the last steps' weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.counts.unseen_counts import is_shown
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.smoothing import kept_windows
from horovodize.rules.smoothing.mixtures import WHAT, WHY
from horovodize.rules.together.number_parts import is_item
from horovodize.source import Edit, Span

_SUMS = ("sum", "reduce_sum", "fsum")
_ASKED = (
    "this looks at what the last steps of a rank gave, which stand for size() times as many rows: let it look at 1/size() as "
    "many, and what goes by their number with it"
)
_TAKEN = ("mean", "nanmean", "average", "reduce_mean", "fmean", "median", "std", "min", "max", "amin", "amax", "reduce_min",
          "reduce_max", "all", "any", "polyfit", *_SUMS)  # fmt: skip


def look_at_as_many(draft: Draft) -> None:
    """Divides how many of the last items are looked at, where something goes by them."""
    if not draft.options.split_data or not draft.divided:
        return
    for part in [n for n in draft.syntax.every(ast.Subscript) if isinstance(n.slice, ast.Slice)]:
        ends = [e for e in _ends(part) if _last(e) is not None]
        held = part.value
        if not ends or not (
            isinstance(held, (ast.Name, ast.Attribute)) or (isinstance(held, ast.Subscript) and is_item(held))
        ):
            continue
        call = draft.syntax.parent[part]
        taken = isinstance(call, ast.Call) and part in call.args and draft.names.last(call.func) in _TAKEN
        decides = taken and isinstance(call, ast.Call) and _decides(draft, call)
        if not decides and not (kept_windows.are_of_weights(draft, held) and not is_shown(draft, part)):
            continue
        grows = growing(draft, held)
        appends = [c for c in grows if isinstance(c.func, ast.Attribute) and c.func.attr == "append"]
        if not len(grows) == len(appends) == 1 or not with_each_step.is_by_step(draft, grows[0]):
            continue
        if decides and isinstance(call, ast.Call) and draft.names.last(call.func) in _SUMS:
            if draft.once("last items", part):
                draft.ask("G7", part, WHAT, WHY, _ASKED)
            continue
        upper = part.slice.upper if isinstance(part.slice, ast.Slice) else None
        for end in ends:
            _divide(draft, end, 1 if end is upper or upper is None else 2)
        for enough in _tested(draft, part, f"len({ast.unparse(part.value)})"):
            if counted.is_whole(draft, enough):
                draft.change("G7", enough, WHAT, WHY, counted.over_ranks(draft, enough, "G7"))


def _ends(part: ast.Subscript) -> Iterator[ast.expr]:
    """`-40` and `-20` of `losses[-40:-20]`; nothing where it isn't counted from the end."""
    if isinstance(part.slice, ast.Slice) and part.slice.step is None and part.slice.lower is not None:
        yield from (e for e in (part.slice.lower, part.slice.upper) if e is not None)


def _last(end: ast.expr) -> ast.UnaryOp | None:
    """`-window` of `-window`, `-2` of `-2 * window`; None where it isn't seen to count more than one from the end."""
    match end:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return end if number > 1 else None
        case ast.UnaryOp(op=ast.USub()):
            return end
        case ast.BinOp(left=ast.UnaryOp(op=ast.USub()) as first, op=ast.Mult()):
            return first
    return None


def _divide(draft: Draft, end: ast.expr, least: int) -> None:
    first = _last(end)
    if first is end and first is not None:
        number = first.operand
        if counted.is_whole(draft, number):
            draft.change("G7", number, WHAT, WHY, counted.over_ranks(draft, number, "G7", least))
        return
    parts = [n for n in ast.walk(end) if isinstance(n, (ast.Name, ast.Attribute))]
    if (
        first is not None
        and all(counted.is_whole(draft, n) for n in parts)
        and draft.decide(end, Divided("G7"))
    ):
        span = Span(draft.module.span(first.operand).start, draft.module.span(end).end)
        draft.change("G7", end, WHAT, WHY, Edit.around(span, f"max({least}, ", f" // {SIZE})"))


def _tested(draft: Draft, part: ast.expr, length: str) -> Iterator[ast.expr]:
    """`40` of `len(losses) >= 40`, where it is tested beside."""
    around = [a for a in draft.syntax.ancestors(part) if isinstance(a, (ast.BoolOp, ast.If, ast.While))]
    for test in (n for a in around for n in ast.walk(a.test if not isinstance(a, ast.BoolOp) else a)):
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and ast.unparse(test.left) == length:
            yield test.comparators[0]


def _decides(draft: Draft, call: ast.Call) -> bool:
    """Whether something goes by a value: it is compared, or what is set to it."""
    if _is_compared(draft, call):
        return True
    statement = draft.syntax.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {ast.unparse(t) for t in targets if isinstance(t, (ast.Name, ast.Attribute))}
    function = draft.syntax.function(call)
    reads = [n for n in draft.syntax.every(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load)]
    beside = (n for n in reads if not isinstance(function, FUNCTIONS) or draft.syntax.function(n) is function)
    return bool(names) and any(ast.unparse(n) in names and _is_compared(draft, n) for n in beside)


def _is_compared(draft: Draft, e: ast.expr) -> bool:
    child: ast.AST = e
    for a in draft.syntax.ancestors(e):
        if isinstance(a, ast.Compare):
            return True
        if isinstance(a, (ast.If, ast.While, ast.IfExp)):
            return draft.syntax.field[child] == "test"
        if isinstance(a, ast.stmt):
            return False
        child = a
    return False


__all__ = ["look_at_as_many"]
