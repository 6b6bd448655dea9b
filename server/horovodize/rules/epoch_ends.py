"""Counts of steps that a checkpoint keeps, where an epoch ends: part of G6.

All ranks take equally many batches of an epoch, so its last ones may be left out, or a count that goes on by size() steps past
its end. Where a later run computes its epoch from the count, it's set to what an epoch counts alone, so that a run that is
through takes no step again, and the rates of the others are those of their epochs."""

from __future__ import annotations

import ast

from horovodize.facts.counters import Counter, CounterKind
from horovodize.facts.exits import exits, skips
from horovodize.rules import counted
from horovodize.rules.decisions import Amount
from horovodize.rules.draft import Draft, needs_parentheses
from horovodize.summary.feeding import Driver, Kind
from horovodize.summary.syntax import position

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
            _set_at_end(draft, places[0], target, steps, driver)
        elif places:
            draft.note("G6", places[0], _LEFT)


def _is_epoch(draft: Draft, driver: Driver) -> bool:
    """Whether a loop over batches begins again in another loop."""
    return any(f.loops for way in draft.drive.ways(driver.loop) for f in way)


def _target(place: ast.AST) -> ast.expr | None:
    """What is counted on, by one: `count` of `count += 1`."""
    match place:
        case ast.AugAssign(target=target, value=ast.Constant(value=1)):
            return target
        case ast.Assign(targets=[target], value=ast.BinOp(right=ast.Constant(value=1))):
            return target
        case _:
            return None


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
