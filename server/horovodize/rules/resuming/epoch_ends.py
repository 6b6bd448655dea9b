"""Counts of steps that a checkpoint keeps, where an epoch ends: part of G6.

All ranks take equally many batches of an epoch, so its last ones may be left out, or a count that goes on by size() steps past
its end. Where a later run computes its epoch from the count, it's set to what an epoch counts alone, so that a run that is
through takes no step again, and the rates of the others are those of their epochs."""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.differences.exits import exits, skips
from horovodize.python.augmented import added
from horovodize.python.syntax import FUNCTIONS, position
from horovodize.rules.drafting.decisions import Amount, Strided
from horovodize.rules.drafting.draft import Draft, needs_parentheses
from horovodize.rules.numbers import counted
from horovodize.source import Edit
from horovodize.summary.feeding import Driver, Kind

_WHAT = "Let an epoch count as many steps as alone"
_WHY = "Ranks take equally many batches of an epoch; what is left of it would be missing in the count, epoch after epoch."
_COMMENT = "Horovod: an epoch counts as many batches as alone."
_LEFT = (
    "an epoch may leave out up to size() - 1 batches, which are missing in this count then; where a run goes on by it, check "
    "that it begins with the right epoch"
)
_PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp)
_RATIOS = (ast.FloorDiv, ast.Div)


def count_whole(draft: Draft, counter: Counter) -> None:
    """Sets a count that goes on by the steps of all ranks, and by which a later run finds its epoch, to that of one process at
    the end of each epoch."""
    if not _gives_epoch(draft, counter):
        return
    for driver in sorted(counter.drivers, key=lambda d: position(d.loop)):
        if not _is_epoch(draft, driver):
            continue
        places = [p for p in counter.advances if draft.syntax.inside(p, driver.loop)]
        target = _target(places[0]) if len(places) == 1 and counter.kind is CounterKind.NUMBER else None
        steps = _steps(draft, driver)
        if target is not None and steps and _is_in_each_turn(draft, places[0], driver):
            left = _left(draft, places[0], target, driver)
            if left:
                _count_what_is_left(draft, places[0], left)
            else:
                _set_at_end(draft, places[0], target, steps, driver)
        elif places:
            draft.note("G6", places[0], _LEFT)


def _is_epoch(draft: Draft, driver: Driver) -> bool:
    """Whether a loop over batches begins again in another loop."""
    return any(f.loops for way in draft.drive.ways(driver.loop) for f in way)


def _target(place: ast.AST) -> ast.expr | None:
    """What is counted on, by one: `count` of `count += 1`."""
    counted = added(place)
    by_one = counted is not None and isinstance(counted.value, ast.Constant) and counted.value.value == 1
    return counted.target if counted is not None and by_one else None


def _steps(draft: Draft, driver: Driver) -> str:
    """How many steps an epoch has alone, as text: of `range(n)` `n`; "" where that isn't seen, or can't be said before it."""
    e = driver.iterable
    if (
        driver.kind is not Kind.RANGE
        or not isinstance(e, ast.Call)
        or not draft.facts.feeding.kinds.is_range(e)
    ):
        return ""
    if isinstance(driver.loop, ast.While) or e.keywords or not all(map(_is_plain, e.args)):
        return ""
    if not all(draft.was(a, Amount) or counted.is_whole(draft, a) for a in e.args):
        return ""
    if len(e.args) > 1:
        return f"len({draft.module.text(e)})"
    text = draft.module.text(e.args[0])
    return f"({text})" if needs_parentheses(e.args[0]) else text


def _is_plain(e: ast.expr) -> bool:
    """Whether an expression gives the same again: `n`, `self.rows // 32`, `len(x) // 32`."""
    if isinstance(e, ast.Call):
        is_len = isinstance(e.func, ast.Name) and e.func.id in ("len", "int")
        return is_len and all(map(_is_plain, e.args))
    return isinstance(e, _PLAIN) and all(
        _is_plain(c) for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr)
    )


def _is_in_each_turn(draft: Draft, place: ast.AST, driver: Driver) -> bool:
    """Whether each turn of a loop counts, and all turns are taken unless its function is left."""
    left = any(isinstance(s, ast.Break) for s in exits(driver.loop))
    return place in driver.loop.body and not left and not skips(driver.loop) and draft.can_insert(driver.loop)


def _set_at_end(draft: Draft, place: ast.AST, target: ast.expr, steps: str, driver: Driver) -> None:
    name, count = draft.fresh("epoch_end"), draft.module.text(target)
    edits = [
        draft.before(driver.loop, draft.lines_of(f"{name} = {count} + {steps}", comment=_COMMENT)),
        draft.after(driver.loop, [f"{count} = {name}"]),
    ]
    draft.change("G6", place, _WHAT, _WHY, edits)


def _left(draft: Draft, place: ast.AST, target: ast.expr, driver: Driver) -> str:
    """How many batches a turn and those after it have, as text: `n - i` in `for i in range(first, n)`, whose turns count by
    size(); "" where that isn't so, or where something is decided by the count after the last turn has moved it on by less."""
    loop, e = driver.loop, driver.iterable
    if not draft.was(loop, Strided) or not isinstance(loop, ast.For) or loop.iter is not e:
        return ""
    turn, stop = loop.target, e.args[1] if isinstance(e, ast.Call) and len(e.args) == 2 else None
    if stop is None or not isinstance(turn, ast.Name) or not isinstance(target, ast.Name):
        return ""
    inside = [n for s in loop.body for n in ast.walk(s)]
    stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    if turn.id in stored or not _stays(draft, stop, stored):
        return ""
    later = (n for n in inside if isinstance(n, ast.Name) and n.id == target.id)
    counted = position(draft.syntax.statement(place))
    if any(position(n) > counted and _decides(draft, n, inside) for n in later if n is not target):
        return ""
    return f"{draft.module.text(stop)} - {turn.id}"


def _decides(draft: Draft, count: ast.Name, inside: list[ast.AST]) -> bool:
    """Whether something in a loop is computed or decided from a count, rather than just told or kept."""
    for a in draft.syntax.ancestors(count):
        if a not in inside:
            return False
        if isinstance(a, (ast.If, ast.While, ast.IfExp)):
            return draft.syntax.inside(count, a.test)
        if isinstance(a, (ast.Compare, ast.BinOp, ast.Assign)):
            return True
    return False


def _stays(draft: Draft, number: ast.expr, stored: set[str]) -> bool:
    """Whether a number is the same in each turn of a loop that stores these names."""
    if isinstance(number, ast.Name):
        function = draft.syntax.function(number)
        return number.id not in stored and draft.module.scopes.lookup(number.id, number) is function
    if not isinstance(number, ast.Attribute):
        return isinstance(number, ast.Constant)
    set_up = [draft.syntax.function(b.statement) for b in draft.values.attribute_bindings(number)]
    return len(set_up) == 1 and all(isinstance(f, FUNCTIONS) and f.name == "__init__" for f in set_up)


def _count_what_is_left(draft: Draft, place: ast.AST, left: str) -> None:
    """`count += hvd.size()` → `count += min(hvd.size(), n - i)`"""
    counted = added(place)
    assert counted is not None
    edits = Edit.around(draft.module.span(counted.value), "min(", f", {left})")
    draft.change("G6", place, _WHAT, _WHY, edits)


def _gives_epoch(draft: Draft, counter: Counter) -> bool:
    """Whether an epoch is computed from a count, or from what it begins with: `first = count // batches`."""
    begun = {ast.unparse(e) for e in counter.starts if isinstance(e, (ast.Name, ast.Attribute))}
    return any(
        draft.facts.counters.of(ratio.left) is counter or ast.unparse(ratio.left) in begun
        for ratio in draft.syntax.every(ast.BinOp)
        if isinstance(ratio.op, _RATIOS)
        and not any(draft.syntax.inside(ratio, d.loop) for d in counter.drivers)
    )


__all__ = ["count_whole"]
