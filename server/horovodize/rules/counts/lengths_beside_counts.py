"""The length of a rank's own data beside a count of the steps of all ranks: part of G5 and G6.

    total = epochs * len(train)                # of a rank's share
    optimizer.learning_rate = 0.01 * (1 - step / total)
    step += hvd.size()                         # a count that a checkpoint keeps

→ `step / (total * hvd.size())`; so beside a count over all epochs, `epoch * len(train) + i`, that G5 tells those
steps. What such a count is divided by, compared with, or taken from is that of all ranks, too. Otherwise a rate would fall
below zero, and an epoch that a later run goes on from would lie beyond the last one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.plan import Decision
from horovodize.rules.counts import epoch_counts, mixed_cases
from horovodize.rules.drafting.decisions import Divided, OfAll, Strided
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share, enclosed
from horovodize.rules.rates import mixed_sums
from horovodize.source import Edit

_WHAT = "Take the steps of all ranks together beside a count of them"
_WHY = "The length is that of a rank's share, and the count goes on by the steps of all ranks."
_MIXED = (
    "this is a rank's number of steps, which goes by the length of its share, in one case and that of all ranks, as it is set, "
    "in another: multiply it by `hvd.size()` where it is the former alone"
)
_RATIOS = (ast.Div, ast.FloorDiv, ast.Mod)
_SUMS = (ast.Add, ast.Sub)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)  # `strides` adapts the others
_BOUNDS = {"min", "max", "minimum", "maximum"}
_SAME = {"float", "int", "cast", "float32", "float64", "int32", "int64", "numpy", "identity"}
_DEPTH = 4


def tell(draft: Draft, rule: str) -> None:
    mixed_cases.divide(draft, rule)
    for test in draft.syntax.every(ast.Compare) if draft.facts.counters.exist else ():
        sides = [test.left, *test.comparators]
        for side in sides if any(counted.of(draft, other) is not None for other in sides) else ():
            mixed_sums.divide(draft, side, rule)
    if not draft.having(Strided) and not draft.having(OfAll):
        return  # nothing counts the steps of all ranks
    for count, length in _pairs(draft):
        if _counts_steps(draft, count) and not _counts_steps(draft, length):
            told = any(draft.was(n, OfAll) for n in draft.values.depends([length], 200))
            for term in _shares_of(draft, length) if not told else ():
                mixed_sums.divide(draft, term, rule)
                if draft.decide(term, OfAll(rule)):
                    doubt = "" if mixed_cases.are_settled(draft, term) else _MIXED
                    edits = _times(draft, term)
                    draft.change(rule, term, _WHAT, _WHY, edits, doubt, decision=Decision.COUNTED)


def _shares_of(draft: Draft, length: ast.expr) -> list[ast.expr]:
    """The terms of a length that go by a rank's share: of `total - 20` only `total`; 20 are steps of one process, as those are
    that are counted beside it."""
    terms = list[ast.expr]()
    match length:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _SUMS):
            terms = [left, right]
        case ast.Call(args=[_, _, *_] as args, keywords=[]) if draft.names.last(length.func) in _BOUNDS:
            terms = args
    if not terms or any(_is_of_a_rank(draft, term) for term in terms):
        return [length]
    return [part for term in terms if counts_a_share(draft, term) for part in _shares_of(draft, term)]


def _is_of_a_rank(draft: Draft, term: ast.expr) -> bool:
    """Whether a term counts a rank's steps, or was divided to: `len(ds) - skipped`, `total - warmup // hvd.size()`."""
    counts = (counted.of(draft, read) for read, _ in draft.facts.counters.reads(term))
    return isinstance(term, ast.Starred) or draft.was(term, Divided) or any(c is not None for c in counts)


def tell_starts(draft: Draft, starts: Iterable[ast.expr], rule: str) -> None:
    """`step = epoch * len(train)`, from which a count of the steps of all ranks goes on: those that they took in the epochs
    before."""
    made = [o.node for start in starts for o in draft.values.origins(start) if not o.path]
    for product in (n for n in made if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)):
        for length in (product.left, product.right):
            if counts_a_share(draft, length) and draft.decide(length, OfAll(rule)):
                draft.change(rule, length, _WHAT, _WHY, _times(draft, length), decision=Decision.COUNTED)


def _pairs(draft: Draft) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands beside the length of a rank's share in quotients, differences, comparisons and bounds."""
    for n in draft.syntax.every(ast.BinOp, ast.Compare, ast.Call):
        sides, lengths = list[ast.expr](), list[ast.expr]()
        match n:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _RATIOS):
                sides, lengths = [left, right], [right]
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _SUMS):
                sides = lengths = [left, right]
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                isinstance(op, _ORDER) for op in ops
            ):
                sides = lengths = [left, *others]
            case ast.Call(args=[one, other]) if draft.names.last(n.func) in _BOUNDS:
                sides = lengths = [one, other]
        for length in lengths:
            if counts_a_share(draft, length):
                yield from ((side, length) for side in sides if side is not length)


def _counts_steps(draft: Draft, e: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a number is a count of the steps of all ranks, or made of one by adding: not what it is divided by."""
    if counted.all_of(draft, e) is not None or epoch_counts.is_told(draft, e):
        return True
    match e:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _SUMS):
            return _counts_steps(draft, left, depth) or _counts_steps(draft, right, depth)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            sides = ((left, right), (right, left))
            return any(_counts_steps(draft, a, depth) and not counts_a_share(draft, b) for a, b in sides)
        case ast.Call(args=[given, *_]) if draft.names.last(e.func) in _SAME:
            return _counts_steps(draft, given, depth)
        case ast.Call(args=[one, other]) if draft.names.last(e.func) in _BOUNDS:
            return _counts_steps(draft, one, depth) or _counts_steps(draft, other, depth)
        case ast.Name() | ast.Attribute() if depth:
            counts = [n for n in _given(draft, e) if not isinstance(n, ast.Constant)]
            return bool(counts) and all(n is not None and _counts_steps(draft, n, depth - 1) for n in counts)
    return False


def _given(draft: Draft, e: ast.Name | ast.Attribute) -> list[ast.expr | None]:
    """What a name, a parameter or a field is set to; a field also what it begins with. None: that can't be seen."""
    is_name = isinstance(e, ast.Name)
    bound = draft.module.scopes.reaching(e) if is_name else draft.values.attribute_bindings(e)  # type: ignore[arg-type]
    given = list[ast.expr | None]()
    for b in bound:
        if b.kind == "parameter":
            given += [*draft.values.passed(b)] or [None]
        else:
            given.append(b.value if b.kind == "assign" and not b.path else None)
    return given


def of_all(draft: Draft, number: ast.expr) -> str:
    """A number beside such a count as text: times size(), where it is the length of a rank's share."""
    text = draft.module.text(number)
    if not counts_a_share(draft, number) or _counts_steps(draft, number):
        return text
    return f"{f'({text})' if needs_parentheses(number) else text} * {SIZE}"


def _times(draft: Draft, length: ast.expr) -> tuple[Edit, ...]:
    """`len(x)` → `len(x) * hvd.size()`, in parentheses where it stands in a quotient."""
    plain = not isinstance(length, (ast.BinOp, ast.IfExp)) or (
        isinstance(length, ast.BinOp) and isinstance(length.op, ast.Mult)
    )
    opening, closing = ("", "") if plain else ("(", ")")
    around = draft.syntax.parent[length]
    stands_apart = plain and enclosed(draft, length, draft.module.span(length)) is not None
    if isinstance(around, ast.BinOp) and isinstance(around.op, _RATIOS) and not stands_apart:
        opening, closing = f"({opening}", f"{closing} * {SIZE})"
    else:
        closing = f"{closing} * {SIZE}"
    return tuple(Edit.around(draft.module.span(length), opening, closing))


__all__ = ["of_all", "tell", "tell_starts"]
