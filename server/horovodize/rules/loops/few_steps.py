"""K4, G4 for one step, or a few: `fit(…, epochs=1000, steps_per_epoch=1)`, `for x, y in ds.take(1):`.

One step can't be divided among ranks: there would be as many steps as before, of size() times the rows, at size() times the
rate. So the epochs of such a `fit` are divided; what its callbacks do with each epoch comes less often then, which is asked
about, as is one step in a loop. A few steps are divided, and it is said that not all numbers of ranks share them evenly."""

from __future__ import annotations

import ast

from horovodize.python.syntax import LOOPS, Loop, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import epoch_axes
from horovodize.rules.numbers.shares import change_count, feeding, is_none

_FEW = 8  # steps: there may be more ranks than these, and what is rounded shows
_DIVIDE = "Divide the epochs, each of which is one step, among the ranks"
_WHY = "A step trains on a batch of each rank, so 1/size() of the steps see as many rows; one step can't be divided."
_CALLBACKS = (
    "what its callbacks do with each epoch (rates, patience, saving) comes size() times less often now"
)
_ONE_EACH = (
    "this takes one step each time, which can't be divided: take it size() times less often, or keep the rate"
)

_UNEVEN = (
    "{0} {1} can't be divided among more than {0} ranks, nor evenly among a number that doesn't divide {0}: there all ranks "
    "together take more of them, or fewer, than one process"
)


def divide_epochs(draft: Draft, call: ast.Call, steps: ast.expr, epochs: ast.expr | None) -> bool:
    """Divides the epochs of a `fit` whose epochs have one step each. Whether that, or a question, is all there is to do."""
    constant = feeding(draft).kinds.constant
    resumes = not is_none(argument(call, "initial_epoch"))  # at an epoch of as many as there were alone
    if constant(steps) != 1 or resumes or is_none(epochs) or epochs is None or constant(epochs) == 1:
        return are_one(draft, "K4", steps)
    change_count(draft, "K4", epochs, _DIVIDE, _WHY)
    epoch_axes.divide(draft, call, epochs)
    if not is_none(argument(call, "callbacks", 5)):
        draft.ask("K4", steps, "Check what happens in each epoch", _WHY, _CALLBACKS)
    return True


def are_one(draft: Draft, rule: str, steps: ast.expr) -> bool:
    """Asks about a number of steps that is one, and says what becomes of a few. Whether it is one."""
    known = feeding(draft).kinds.constant(steps)
    if known == 1:
        draft.ask(rule, steps, "Take fewer of these steps", _WHY, _ONE_EACH)
    else:
        tell(draft, rule, steps)
    return known == 1


def tell(draft: Draft, rule: str, steps: ast.expr, what: str = "steps") -> None:
    """Says of a few steps, which each turn of a loop takes, or each epoch, that not all numbers of ranks share them evenly."""
    known = feeding(draft).kinds.constant(steps)
    if known is not None and 1 < known < _FEW:
        draft.note(rule, steps, _UNEVEN.format(known, what))


def tell_of_turns(draft: Draft, rule: str, loop: Loop, turns: ast.expr) -> None:
    """The same of a few turns that come again and again, or take many steps each: `for epoch in range(3):` around a loop that
    isn't divided itself."""
    places: set[ast.AST] = {u.call for u in draft.sites.updates}
    places |= {run.call for run in draft.sites.graph.trainings}
    inner = (n for s in loop.body for n in ast.walk(s) if isinstance(n, LOOPS))
    if any(draft.drive.reaches(n, places) for n in inner):
        tell(draft, rule, turns, "turns of many steps")
    elif draft.syntax.loops(loop):
        tell(draft, rule, turns)
