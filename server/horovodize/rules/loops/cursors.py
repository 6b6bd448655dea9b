"""Loops that select their batches by a cursor of their own: part of G4 and S5.

`while i < n: …x[i : i + size]…; i += size`. Divided in number alone, all ranks would take the same first batches. So each
rank selects by its own cursor, as far on as the batches of the ranks before it and of the turns before reach, and the loop
goes on while there is a batch left for the last rank. Where a cursor begins again (`if i + n > len(x): i = 0`), it does so as
soon as there is none left for the last rank (`begun_again`).
"""

from __future__ import annotations

import ast
import itertools

from horovodize.facts.counting.cursors import Cursor, cursors_of
from horovodize.plan import Decision
from horovodize.python.comparisons import faced
from horovodize.python.syntax import Loop, is_one
from horovodize.rules.drafting.decisions import Divided, Fewer
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.loops import begun_again, cursor_places, cursor_reads, own_numbers
from horovodize.rules.loops.ranges import EVERYTHING
from horovodize.rules.numbers.counted import counts_share
from horovodize.rules.numbers.shares import DIVIDE_STEPS, WHY
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

_WHAT = "Give every rank its own batches"
_BESIDE = (
    "`{name}` selects rows beside those of the loop, which are divided, but doesn't advance alike in every turn: all ranks "
    "select the same by it; let each rank select others"
)


def note_unsteady(draft: Draft, driver: Driver, cursors: list[Cursor], rule: str) -> bool:
    """Says of a loop that its batches can't be dealt out; whether that is so."""
    first = driver.loop.body[0]
    unsteady = [
        c.name
        for c in cursors
        if c.step is None
        or not draft.can_insert(first)
        or not own_numbers.can_give(draft, c.uses)
        or not begun_again.can_divide(draft, c)
    ]
    if unsteady:
        draft.note(
            rule,
            driver.loop,
            f"`{unsteady[0]}` selects the batches but doesn't advance alike in every turn, so they aren't "
            f"divided: {EVERYTHING}",
        )
        strong.leave_loop(draft, driver)
    return bool(unsteady)


def divide_test(draft: Draft, loop: ast.While, cursors: list[Cursor], rule: str) -> bool:
    """`while i < n` → `while i * ranks + (ranks - 1) * step < n`: there is a batch left for the last rank. Whether the test is
    of such a form, and each rank selects its own by it. Of fewer
    batches than ranks there is one turn, and some ranks take the same."""
    test = loop.test
    sides = faced(test, (ast.Lt, ast.LtE))
    if sides is None or not isinstance(test, ast.Compare):
        return False
    named = {c.name: c for c in cursors}
    read = [n for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in named]
    if len(read) != 1 or not cursor_places.grows_with(sides[0], read[0]) or not draft.can_insert(loop):
        return False
    cursor, place = named[read[0].id], draft.module.span(read[0])
    if cursor.rows is not None or any(c.restart is not None for c in cursors):
        return False
    counter = draft.facts.counters.of(read[0])
    if counter is not None and counter.stored:
        return read[0] is sides[0] and _select_by_stored(draft, loop, cursors, sides[1], rule)
    draft.divided = True
    draft.decide(loop, Fewer(rule))
    draft.decide(sides[1], Divided(rule))
    ranks = draft.fresh("ranks")
    whole, start = draft.module.text(test), draft.module.span(test).start
    some = draft.fresh("r")
    first = cursor_places.last_of_a_turn(draft, cursor, some, cursor.first)
    later = cursor_places.last_of_a_turn(draft, cursor, ranks, None)
    before = (
        whole[: place.start - start] + cursor_places.within(test, read[0], first) + whole[place.end - start :]
    )
    edits = [
        draft.before(
            loop, [f"{ranks} = max({some} for {some} in range(1, {SIZE} + 1) if {some} == 1 or {before})"]
        ),
        Edit(place, cursor_places.within(test, read[0], later)),
    ]
    draft.change(rule, test, DIVIDE_STEPS, WHY, edits)
    owns = _select(draft, loop, cursors, rule, ranks)
    cursor_reads.as_all(draft, loop, cursor, owns[cursor.name], rule, ranks)
    return True


def _select_by_stored(
    draft: Draft, loop: ast.While, cursors: list[Cursor], bound: ast.expr, rule: str
) -> bool:
    """Lets each rank select by its own of a cursor that a checkpoint keeps, and that counts the steps of all ranks therefore
    (G6): the loop ends where it did, and past the end there is only the last batch."""
    test = loop.test
    if len(cursors) > 1 or not is_one(cursors[0].step) or not isinstance(test, ast.Compare):
        return False
    draft.divided = True
    draft.decide(loop, Fewer(rule))
    last = draft.module.text(bound)
    if isinstance(test.ops[0], (ast.Lt, ast.Gt)):
        number = bound.value if isinstance(bound, ast.Constant) else None
        last = str(number - 1) if isinstance(number, int) else f"{cursor_places.text_of(draft, bound)} - 1"
    _select(draft, loop, cursors, rule, "", f"min({cursors[0].name} + {RANK}, {last})")
    return True


def select_own(draft: Draft, driver: Driver, cursors: list[Cursor], counted: str, rule: str) -> None:
    """Lets each rank select by its own cursor, in a loop whose turns are divided. `counted`: how many there were, as an
    expression; nothing where they are many more than there are ranks."""
    if not cursors:
        return
    ranks = ""
    begin_again = [c for c in cursors if c.restart is not None]
    if begin_again:
        ranks = begun_again.divide(draft, driver.loop, begin_again, rule)
    elif counted:
        ranks = draft.fresh("ranks")
        line = f"{ranks} = min({SIZE}, max(1, {counted}))"
        draft.change(rule, driver.loop, _WHAT, WHY, [draft.before(driver.loop, [line])])
    owns = _select(draft, driver.loop, cursors, rule, ranks)
    for cursor in cursors:
        cursor_reads.as_all(draft, driver.loop, cursor, owns[cursor.name], rule, ranks or SIZE)


def select_beside(draft: Draft, driver: Driver, rule: str) -> None:
    """Lets each rank select by its own cursor what comes beside the rows that a loop goes through."""
    first = driver.loop.body[0]
    for cursor in cursors_of(draft.facts.feeding, driver):
        if cursor.uses.selecting and all(_is_tested(draft, use) for use in cursor.uses.selecting):
            continue  # `weights[step > 50]` goes by how much has been seen
        steady = cursor.step is not None and draft.can_insert(first) and cursor.restart is None
        if steady and own_numbers.can_give(draft, cursor.uses):
            by = f"{cursor.name} + {RANK}" if _counts_all(draft, driver, cursor) else ""
            _select(draft, driver.loop, [cursor], rule, "", by)
        else:
            draft.ask(rule, driver.loop, _WHAT, WHY, _BESIDE.format(name=cursor.name))


def _counts_all(draft: Draft, driver: Driver, cursor: Cursor) -> bool:
    """Whether a cursor goes on by the steps of all ranks, as a later run goes on from it (G6)."""
    named = (
        n for s in driver.loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == cursor.name
    )
    counter = next((c for n in named if (c := draft.facts.counters.of(n)) is not None), None)
    return counter is not None and counter.stored and is_one(cursor.step) and counts_share(draft, counter)


def _is_tested(draft: Draft, use: ast.AST) -> bool:
    around = itertools.takewhile(lambda a: isinstance(a, ast.expr), draft.syntax.ancestors(use))
    return any(isinstance(a, ast.Compare) for a in around)


def _select(
    draft: Draft, loop: Loop, cursors: list[Cursor], rule: str, ranks: str, by: str = ""
) -> dict[str, str]:
    """Lets a rank select by cursors of its own; their names, by those of the cursors.

    by: what each rank selects by, as text; else what follows from how many ranks share the turns"""
    owns = dict[str, str]()
    for cursor in cursors:
        own = owns[cursor.name] = own_numbers.name(draft, cursor.name, loop.body[0])
        turns = f"{RANK} % {ranks}" if ranks else RANK
        if ranks and not is_one(cursor.step):
            turns = f"({turns})"
        value = by or cursor_places.moved(draft, cursor, turns, ranks or SIZE, None)
        if cursor.rows is not None and not by:  # the ranks' batches of a turn come round, too
            value = f"({value}) % {cursor_places.text_of(draft, cursor.rows)}"
        line = f"{own} = {value}"
        edits = [
            begun_again.beside(draft, cursor, line) or draft.before(loop.body[0], [line]),
            *own_numbers.give(draft, cursor.uses, cursor.name, own, rule),
            *(Edit(draft.module.span(end), _end(draft, cursor, own)) for end in cursor.ends),
        ]
        if cursor.end is not None:  # the end of a rank's own batch is not where all of them go on
            edits.append(Edit(draft.module.span(cursor.end), _end(draft, cursor, cursor.name)))
        place = next(iter((*cursor.uses.selecting, *(t.call for t in cursor.uses.told))), loop)
        draft.change(rule, place, _WHAT, WHY, edits, decision=Decision.SHARED)
    return owns


def _end(draft: Draft, cursor: Cursor, own: str) -> str:
    """Where a rank's own batch ends: past the last row, too, where only what is left comes."""
    assert cursor.step is not None
    return f"{own} + {cursor_places.text_of(draft, cursor.step)}"
