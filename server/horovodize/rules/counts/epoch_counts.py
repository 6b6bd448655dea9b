"""Counts of steps over all epochs, `epoch * steps + step`: part of G5.

The product counts the steps of all ranks; `step` is a rank's own, of which there are size() times fewer. Where it is multiplied
by size(), checkpoints, logs and events keep their numbers: `epoch * steps + step * hvd.size()`. Where `steps` are a rank's own,
too (`epoch * len(data) + step` of data that are divided), both are multiplied."""

from __future__ import annotations

import ast

from horovodize.facts.counting.variable_additions import within
from horovodize.python.augmented import augmented
from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop
from horovodize.python.syntax import is_one as is_one_step
from horovodize.rules.drafting.decisions import Counted, Divided, OfAll
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.rules.numbers.shares import counts_a_share, is_told_by_fit
from horovodize.source import Edit

_EPOCHS_OF_FIT = ("on_epoch_begin", "on_epoch_end")
_WHOLE = ("int", "ceil", "floor")
_WHAT = "Let it count the steps of all ranks"
_WHY_OWN = "What goes by it comes as often for the rows that are seen, and keeps its numbers."
_WHAT_START = "Begin with the steps that a rank has taken"
_WHY_START = "It goes on by a rank's steps, of which there are size() times fewer."
_NOT_BY_ONE = (
    "this count begins each epoch with what all ranks have counted, and goes on by what a rank counts: divide what it begins "
    "with by the number of ranks"
)
_WHY = "The steps of the epochs before are those of all ranks; those of this one are a rank's own."


def apply(draft: Draft) -> None:
    _divide_starts(draft)
    for count in draft.syntax.every(ast.BinOp) if draft.facts.counters.exist else ():
        turn = _turn(draft, count)
        if turn is None or draft.was(turn, OfAll) or counted.of(draft, turn) is None:
            continue
        if draft.decide(turn, Counted("G5")):
            steps = _steps(draft, count, turn)
            own = steps is not None and _is_own(draft, steps) and not draft.was(steps, OfAll)
            edits = [*counted.read_as_all(draft, turn, "G5")]
            edits += counted.read_as_all(draft, steps, "G5") if own and steps is not None else ()
            one = _one_more(draft, count, turn)
            if one is not None and draft.decide(one, Counted("G5")):
                edits.append(Edit(draft.module.span(one), SIZE))
            draft.change("G5", turn, _WHAT, _WHY_OWN if own else _WHY, edits)


def _steps(draft: Draft, count: ast.BinOp, turn: ast.expr) -> ast.expr | None:
    """`steps` of `epoch * steps + step`."""
    product = _product(count.right if draft.syntax.inside(turn, count.left) else count.left)
    if product is None:
        return None
    is_epoch = _loop(draft, product.left) is not None or _is_epoch_of_fit(draft, product.left)
    return product.right if is_epoch else product.left


def _product(e: ast.expr) -> ast.BinOp | None:
    """`epoch * steps`, or that of `epoch * rows // batch`."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.FloorDiv, ast.Div)):
        e = e.left
    return e if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult) else None


def _one_more(draft: Draft, count: ast.BinOp, turn: ast.expr) -> ast.expr | None:
    """The `1` of `step = epoch * steps + i + 1` and of `epoch * steps + (i + 1)`: how many steps there are after this one."""
    around, inner = draft.syntax.parent[count], draft.syntax.parent[turn]
    if inner is not count and isinstance(inner, ast.BinOp):
        return inner.right
    named = isinstance(around, ast.BinOp) and isinstance(draft.syntax.parent[around], ast.Assign)
    adds = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Add) and around.left is count
    return (
        around.right
        if named and adds and isinstance(around, ast.BinOp) and is_one_step(around.right)
        else None
    )


def is_one(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is such a count, or a name that is only ever given one: with each step it goes on by size()."""
    if isinstance(e, ast.Name):
        values = [v for b in draft.module.scopes.reaching(e) for v in _given(draft, b)]
        return bool(values) and all(isinstance(v, ast.BinOp) and _goes_on(draft, v) for v in values)
    return isinstance(e, ast.BinOp) and _turn(draft, e) is not None


def _divide_starts(draft: Draft) -> None:
    """`step = epoch * steps`, then `step += 1`, which counts a rank's: `step = epoch * steps // hvd.size()`; what it is set off
    against in the same way, `step - epoch * steps`, too."""
    for counter in draft.facts.counters.listed.begun_by_products:
        products = [e for e in counter.starts if not isinstance(e, ast.Constant)]
        if not counted.counts_share(draft, counter) or not any(_is_of_all(draft, e) for e in products):
            continue
        moved = [augmented(place) for place in counter.advances]
        by_one = all(m is not None and is_one_step(m.value) for m in moved)
        if not by_one or not all(_is_of_all(draft, e) for e in products):
            draft.ask("G5", products[0], _WHAT_START, _WHY_START, _NOT_BY_ONE)
            continue
        less = (n for n in draft.syntax.every(ast.BinOp) if isinstance(n.op, ast.Sub))
        products += [
            n.right for n in less if _is_of_all(draft, n.right) and draft.facts.counters.of(n.left) is counter
        ]
        for e in products:
            if draft.decide(e, Divided("G5")):
                draft.change("G5", e, _WHAT_START, _WHY_START, draft.times(e, SIZE, "//"))


def _is_of_all(draft: Draft, e: ast.expr) -> bool:
    """Whether a product is of an epoch and the steps that one process takes in one."""
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, ast.Mult):
        return False
    for epoch, steps in ((e.left, e.right), (e.right, e.left)):
        if _loop(draft, epoch) is not None or _is_epoch_of_fit(draft, epoch):
            return not _is_own(draft, steps) and counted.is_whole(draft, steps)
    return False


def is_told(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is such a count that gives the steps of all ranks by now."""
    turn = _turn(draft, e) if isinstance(e, ast.BinOp) else None
    return turn is not None and draft.was(turn, OfAll)


def _given(draft: Draft, b: Binding) -> list[ast.expr | None]:
    """What a name is set to, or gets from a generator function that yields it."""
    if b.kind == "item" and isinstance(b.statement, (ast.For, ast.AsyncFor)):
        yielded = draft.facts.counters.yielded.given(b.statement.iter, b.path)
        return [*yielded] if yielded else [None]
    return [b.value]


def _goes_on(draft: Draft, value: ast.BinOp) -> bool:
    """Whether a name is given such a count, or that of the steps after it."""
    if _turn(draft, value) is not None:
        return True
    return (
        draft.was(value.right, Counted)
        and isinstance(value.left, ast.BinOp)
        and _turn(draft, value.left) is not None
    )


def times(draft: Draft, e: ast.expr) -> str | None:
    """By what such a count is multiplied, as text: "32" of `(epoch * steps + step) * 32`, and of a name that is given that."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path and bound[0].value is not None:
        e = bound[0].value
    if not isinstance(e, ast.BinOp) or not isinstance(e.op, ast.Mult) or not is_one(draft, e.left):
        return None
    plain = isinstance(e.right, (ast.Name, ast.Attribute, ast.Constant))
    return draft.module.text(e.right) if plain else None


def _turn(draft: Draft, count: ast.BinOp) -> ast.expr | None:
    """`step` of `epoch * steps + step`, or `int(step)`."""
    if not isinstance(count.op, ast.Add) or draft.drive.in_traced(count):
        return None
    for side, number in ((count.left, count.right), (count.right, count.left)):
        is_next = (
            isinstance(number, ast.BinOp) and isinstance(number.op, ast.Add) and is_one_step(number.right)
        )
        turn = number.left if is_next and isinstance(number, ast.BinOp) else number
        name, product = _plain(draft, turn), _product(side)
        if product is None or not isinstance(name, ast.Name) or not _counts(draft, turn):
            continue
        inner = _loop(draft, turn)
        for epoch, steps in ((product.left, product.right), (product.right, product.left)):
            outer = _loop(draft, epoch)
            around = (
                inner is not None
                and outer is not None
                and outer is not inner
                and (draft.syntax.inside(inner, outer) or _runs_in(draft, inner, outer))
            )
            around = around or (
                inner is None and _is_batch_of_fit(draft, name) and _is_epoch_of_fit(draft, epoch)
            )
            if around and (_is_number(draft, steps) or is_told_by_fit(steps)):
                return turn
    return None


def _plain(draft: Draft, e: ast.expr) -> ast.expr:
    """A number itself: `i` of `int(i)`, `i.numpy()`."""
    while isinstance(e, ast.Call) and draft.values.callee(e) is None:
        inner = within(draft.names.last(e.func), e)
        if inner is None:
            break
        e = inner
    return e


def _is_batch_of_fit(draft: Draft, turn: ast.Name) -> bool:
    """Whether a name is the number of a batch, as `fit` tells it a callback."""
    hook = draft.facts.hooks.around(turn)
    bound = draft.module.scopes.reaching(turn)
    return (
        hook is not None
        and hook.is_of_batches
        and hook.number == turn.id
        and [b.kind for b in bound] == ["parameter"]
    )


def _is_epoch_of_fit(draft: Draft, e: ast.expr) -> bool:
    """Whether a field is only ever given the number of an epoch, as `fit` tells it a callback, but for what it begins with."""
    nodes = [o.node for o in draft.values.origins(e)] if isinstance(e, (ast.Name, ast.Attribute)) else []
    given = [n for n in nodes if not isinstance(n, ast.Constant)]
    return bool(given) and all(
        isinstance(n, ast.arg)
        and (hook := draft.facts.hooks.around(n)) is not None
        and hook.name in _EPOCHS_OF_FIT
        and hook.number == n.arg
        for n in given
    )


def _counts(draft: Draft, turn: ast.expr) -> bool:
    """Whether a name counts steps: a rank's, or, where it is read for a rate, those of all ranks by now."""
    told = draft.was(turn, OfAll)
    return told or counted.of(draft, turn) is not None or counted.all_of(draft, turn) is not None


def _runs_in(draft: Draft, inner: Loop, outer: Loop) -> bool:
    """Whether a function that holds a loop is only called in another."""
    return all(any(outer in f.loops for f in way) for way in draft.drive.ways(inner))


def _loop(draft: Draft, e: ast.expr, seen: frozenset[Binding] = frozenset()) -> Loop | None:
    """The loop whose turns a name counts: its variable, or a number that begins before it and goes on in each of its turns; of
    a parameter, that of what is passed for it."""
    e = _plain(draft, e)
    found = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    if len(found) == 1 and found[0].kind == "parameter":
        if found[0] in seen:
            return None  # a function that calls itself
        told = {_loop(draft, given, seen | {found[0]}) for given in draft.values.passed(found[0])}
        return told.pop() if len(told) == 1 else None
    alias = found[0].value if len(found) == 1 and found[0].kind == "assign" and not found[0].path else None
    if isinstance(alias, ast.Name):
        return _loop(draft, alias, seen | {found[0]}) if found[0] not in seen else None
    loops = [s for b in found if isinstance(s := b.statement, (ast.For, ast.AsyncFor))]
    if len(loops) == len(found) == 1:
        return loops[0]
    around = [draft.syntax.loops(b.statement)[:1] for b in found if b.kind == "augment"]
    begun = [b for b in found if b.kind == "assign" and isinstance(b.value, ast.Constant) and not b.path]
    if len(around) != 1 or not around[0] or len(begun) + 1 != len(found):
        return None
    loop = around[0][0]
    in_it = any(draft.syntax.inside(b.statement, loop) for b in begun)
    return None if in_it else loop


def _is_number(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is read as how many steps an epoch has: `steps`, `len(data)`, `len(x) // 32`, `int(n / batch)`,
    `int(len(x) * 0.8)`."""
    match e:
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant() | ast.Name()):
            return _is_length(draft, left)
        case ast.Name() | ast.Attribute() | ast.Constant():
            return True
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Div(), right=right):
            return _is_number(draft, left) and _is_number(draft, right)
        case ast.Call(args=[given]) if draft.names.last(e.func) in _WHOLE:
            return _is_number(draft, given)
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
            return True
        case _:
            return _is_length(draft, e)


def _is_length(draft: Draft, e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and draft.names.last(e.func) in ("len", "cardinality")


def _is_own(draft: Draft, steps: ast.expr) -> bool:
    """Whether the number of an epoch's steps counts a rank's own: it was divided, or is the length of what was."""
    if counts_a_share(draft, steps):
        return True
    spans = [draft.module.span(n) for n in draft.values.depends([steps], 200) if isinstance(n, ast.expr)]
    return any(change.span == span for change in draft.changes for span in spans)
