"""Loops that select their rows by a number which an object or a dictionary holds, or which begins where a file says: part of G4
and S5.

    while state["step"] < 1000:                      while state["step"] < 1000 // hvd.size():
        i = state["step"]                                own_step = state["step"] * hvd.size() + hvd.rank()
        train(x[i * 32 : (i + 1) * 32])       →          i = own_step
        state["step"] += 1                               train(x[i * 32 : (i + 1) * 32])
                                                         state["step"] += 1

The number counts the steps of a rank, or those of all ranks where a later run goes on from it (G6): then a rank's own is as
many on from it as there are ranks before this one. Only where it surely counts this loop's steps, from 0 on where it isn't
kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import Counter
from horovodize.facts.counting.cursors import Cursor
from horovodize.plan import Decision
from horovodize.python.comparisons import faced
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.loops import cursor_places, own_numbers
from horovodize.rules.numbers.shares import WHY
from horovodize.summary.feeding import Driver

_WHAT = "Give every rank its own batches"


def may_divide(draft: Draft, driver: Driver, loop: ast.While, found: list[Cursor]) -> bool:
    """Whether a loop selects by one such number alone, and that counts its steps."""
    cursor = found[0]
    if len(found) > 1 or not draft.can_insert(loop.body[0]) or not own_numbers.can_give(draft, cursor.uses):
        return False
    counter = _counter(draft, loop, cursor)
    if counter is None or driver not in counter.drivers or set(counter.advances) != {cursor.moves}:
        return False
    if counter.stored:
        return _bound(draft, loop, counter) is not None
    starts = [*counter.starts, *_written_out(draft, _read(loop, cursor))]
    return bool(starts) and all(isinstance(s, ast.Constant) and s.value == 0 for s in starts)


def select(draft: Draft, loop: ast.While, cursor: Cursor) -> None:
    """Lets each rank select by a number of its own."""
    counter = _counter(draft, loop, cursor)
    assert counter is not None
    own = own_numbers.name(draft, cursor.name, loop.body[0])
    name = _name(draft, cursor)
    value = f"{name} * {SIZE} + {RANK}"
    if counter.stored:
        bound = _bound(draft, loop, counter)
        assert bound is not None
        value = f"min({name} + {RANK}, {bound})"
    edits = [
        draft.before(loop.body[0], [f"{own} = {value}"]),
        *own_numbers.give(draft, cursor.uses, cursor.name, own, draft.loop_rule),
    ]
    place = next(iter((*cursor.uses.held, *cursor.uses.selecting, *(t.call for t in cursor.uses.told))), loop)
    draft.change(draft.loop_rule, place, _WHAT, WHY, edits, decision=Decision.SHARED)


def _counter(draft: Draft, loop: ast.While, cursor: Cursor) -> Counter | None:
    read = _read(loop, cursor)
    return draft.facts.counters.of(read) if read is not None else None


def _read(loop: ast.While, cursor: Cursor) -> ast.expr | None:
    """A place where the loop reads the number."""
    reads = (n for n in ast.walk(loop) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)))
    return next((n for n in reads if isinstance(n.ctx, ast.Load) and ast.unparse(n) == cursor.name), None)


def _written_out(draft: Draft, item: ast.expr | None) -> Iterator[ast.expr]:
    """What an item is in dictionaries that are written out: the 0 of `{"step": 0}`."""
    if not isinstance(item, ast.Subscript):
        return
    for origin in draft.values.origins(item.value):
        if isinstance(origin.node, ast.Dict):
            pairs = zip(origin.node.keys, origin.node.values, strict=True)
            yield from (v for k, v in pairs if k is not None and ast.dump(k) == ast.dump(item.slice))


def _name(draft: Draft, cursor: Cursor) -> str:
    """How the program writes the number."""
    moves = cursor.moves
    assert isinstance(moves, (ast.AugAssign, ast.Assign))
    return draft.module.text(moves.target if isinstance(moves, ast.AugAssign) else moves.targets[0])


def _bound(draft: Draft, loop: ast.While, counter: Counter) -> str | None:
    """The last number of the loop, as text: past the end there is only the last batch."""
    sides = faced(loop.test, (ast.Lt, ast.LtE))
    if sides is None or draft.facts.counters.of(sides[0]) is not counter:
        return None
    bound, text = sides[1], cursor_places.text_of(draft, sides[1])
    if isinstance(loop.test, ast.Compare) and isinstance(loop.test.ops[0], (ast.LtE, ast.GtE)):
        return text
    number = bound.value if isinstance(bound, ast.Constant) else None
    return str(number - 1) if isinstance(number, int) else f"{text} - 1"


__all__ = ["may_divide", "select"]
