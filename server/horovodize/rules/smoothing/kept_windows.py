"""Windows over a rank's last losses by which it decides: part of G7.

`window = deque(maxlen=20)` that each step appends its loss to holds the losses of 20 steps, and so does a list that gives its
first away once it is longer (`capped_lists`). A rank takes size() times fewer, so 20 of its own stand for size() times as many
rows: where something is decided by their mean, the window holds 1/size() of them, and so do the tests of whether it is full,
`len(window) == 20`. Likewise one of the last steps' weights, whose mean is the model's in the end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.python.syntax import argument
from horovodize.rules.counts.unseen_counts import is_shown
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.rules.numbers.lengths import growing
from horovodize.rules.smoothing import capped_lists
from horovodize.rules.smoothing.kept_mixtures import WEIGHTS
from horovodize.rules.smoothing.mixtures import WHAT, WHY

_SUMMING = ("sum", "reduce_sum", "fsum")
_MEANS = ("mean", "nanmean", "average", "reduce_mean", "fmean", "median", "std", *_SUMMING)
_SUMS = (
    "this holds what the last steps of a rank gave, which stand for size() times as many rows, and their sum is taken: let it "
    "hold 1/size() of them, and what goes by the sum with it"
)


@dataclass(frozen=True)
class _Window:
    held: ast.Name | ast.Attribute
    most: ast.expr  # how many it holds
    reads: tuple[ast.expr, ...]


def look_at_as_many(draft: Draft) -> None:
    """Divides the lengths of such windows."""
    if not draft.options.split_data or not draft.divided:
        return
    for window in _divided(draft):
        number = draft.facts.feeding.kinds.constant(window.most) or 0
        divisors = _divisors(draft, window, number)
        if divisors is None:
            if draft.once("window of sums", window.most):
                draft.ask("G7", window.most, WHAT, WHY, _SUMS)
            continue
        for e in (window.most, *_tested(draft, window, number), *divisors):
            draft.change("G7", e, WHAT, WHY, counted.over_ranks(draft, e, "G7"))


def is_length(draft: Draft, e: ast.expr) -> bool:
    """Whether a number is how many steps such a window holds."""
    return draft.options.split_data and draft.divided and any(w.most is e for w in _divided(draft))


def _divided(draft: Draft) -> list[_Window]:
    """The windows that each step adds to, by whose mean something is decided, and those that get what falls out of them."""
    deciding = [
        (w, grows) for w in (*_deques(draft), *_lists(draft)) if (grows := _grows(draft, w)) is not None
    ]
    found = [w for w, grows in deciding if with_each_step.is_by_step(draft, grows)]
    later = [(w, grows) for w, grows in deciding if w not in found]
    while more := [
        w for w, grows in later if w not in found and any(_falls_out(draft, grows, f) for f in found)
    ]:
        found += more
    return found


def _grows(draft: Draft, window: _Window) -> ast.Call | None:
    """What adds to a window by which something is decided; None where there is no such call, or several."""
    number = draft.facts.feeding.kinds.constant(window.most)
    if number is None or number < 2 or not (_decides(draft, window) or _holds_weights(draft, window)):
        return None
    grows = [
        c
        for c in growing(draft, window.held)
        if isinstance(c, ast.Call) and draft.names.last(c.func) == "append"
    ]
    return grows[0] if len(grows) == 1 else None


def _falls_out(draft: Draft, grows: ast.Call, window: _Window) -> bool:
    """Whether what is added is the first of another window, `older.append(newer.popleft())`."""
    made = [o.node for e in grows.args[:1] for o in draft.values.origins(e)]
    firsts = [taken for n in made if (taken := _first_taken_from(n)) is not None]
    return bool(made) and len(firsts) == len(made) and all(e in window.reads for e in firsts)


def _first_taken_from(n: ast.AST) -> ast.expr | None:
    """`window` of `window.popleft()` and `window.pop(0)`"""
    match n:
        case ast.Call(func=ast.Attribute(value=held, attr="popleft")):
            return held
        case ast.Call(func=ast.Attribute(value=held, attr="pop"), args=[ast.Constant(value=0)]):
            return held
        case _:
            return None


def _deques(draft: Draft) -> Iterator[_Window]:
    """`window = deque(maxlen=20)`"""
    for made in draft.module.calls_of("collections.deque"):
        length, held = argument(made, "maxlen", 1), _held(draft, made)
        if length is not None and held is not None:
            yield _Window(held, length, tuple(_reads(draft, made, held)))


def _lists(draft: Draft) -> Iterator[_Window]:
    """`if len(window) > 20: window.pop(0)`"""
    for capped in capped_lists.every(draft):
        reads = [r for r in capped.reads(draft) if not _cuts(draft, r, capped.most)]
        yield _Window(capped.held, capped.most, tuple(reads))


def _cuts(draft: Draft, read: ast.expr, most: ast.expr) -> bool:
    """Whether a window is read to be cut: by the statement that says how many it holds."""
    return draft.syntax.statement(read) is draft.syntax.statement(most)


def _held(draft: Draft, made: ast.Call) -> ast.Name | ast.Attribute | None:
    """The name that a window has, where it is made."""
    statement = draft.syntax.statement(made)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is made else None
    if isinstance(statement, ast.AnnAssign) and statement.value is made:
        target = statement.target
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if (
            made in values and len(names) == len(values)
        ):
            target = names[values.index(made)]
    return target if isinstance(target, (ast.Name, ast.Attribute)) else None


def _reads(draft: Draft, made: ast.Call, held: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """Where a window is read."""
    last = held.id if isinstance(held, ast.Name) else held.attr
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        called = n.id if isinstance(n, ast.Name) else n.attr
        if (
            called == last
            and isinstance(n.ctx, ast.Load)
            and any(o.node is made for o in draft.values.origins(n))
        ):
            yield n


def _decides(draft: Draft, window: _Window) -> bool:
    """Whether a mean over a window is for more than to be shown."""
    for read in window.reads:
        call = draft.syntax.parent[read]
        is_mean = isinstance(call, ast.Call) and read in call.args and draft.names.last(call.func) in _MEANS
        if is_mean and not is_shown(draft, read):
            return True
    return False


def _holds_weights(draft: Draft, window: _Window) -> bool:
    """Whether a window holds the weights after each of the last steps: `window.append(model.get_weights())`."""
    return are_of_weights(draft, window.held) and any(not is_shown(draft, read) for read in window.reads)


def are_of_weights(draft: Draft, held: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    """Whether what a list gets are weights: `window.append(model.get_weights())`."""
    added = [a for c in growing(draft, held) if isinstance(c, ast.Call) for a in c.args]
    copied = [
        a for a in added if isinstance(a, (ast.ListComp, ast.DictComp))
    ]  # `[w.numpy() for w in model.weights]`
    return any(
        isinstance(n, ast.Attribute) and n.attr in WEIGHTS for c in copied for n in ast.walk(c)
    ) or any(
        isinstance(n, ast.Call) and draft.names.last(n.func) == "get_weights"
        for n in draft.values.depends(added, 60)
    )


def _divisors(draft: Draft, window: _Window, number: int) -> list[ast.expr] | None:
    """`20` of `sum(window) / 20`; None where a sum over a window is not divided by how many it holds."""
    found = list[ast.expr]()
    for read in window.reads:
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


def _tested(draft: Draft, window: _Window, number: int) -> Iterator[ast.expr]:
    """`20` of `len(window) == 20`"""
    for test in draft.syntax.every(ast.Compare):
        match test:
            case ast.Compare(left=ast.Call(func=ast.Name(id="len"), args=[held]), comparators=[most]) if (
                held in window.reads
            ):
                if draft.facts.feeding.kinds.constant(most) == number:
                    yield most


__all__ = ["are_of_weights", "is_length", "look_at_as_many"]
