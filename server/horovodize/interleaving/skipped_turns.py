"""What a test leaves out: turns of a loop, by `if os.path.exists(f"{fold}.h5"): continue` before each fold is trained, or the
rest of a function, by `if os.path.isdir(folder): return`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from horovodize.interleaving.actions import (
    Block,
    Choice,
    Deed,
    Exit,
    Holds,
    Leave,
    Together,
    Touch,
    everything,
    held,
)
from horovodize.interleaving.deeds import Deeds


def joined(deeds: Deeds, statements: Sequence[ast.stmt], done: Sequence[Block]) -> Block:
    """What statements do, one after the other. Whether a file is there matters to others also where a test by it leaves out
    what they then wait in."""
    steps = list(done)
    for i, s in enumerate(statements):
        if not isinstance(s, ast.If) or not _returns(s) or not (looks := _looks(deeds, s.test)):
            continue
        if any(Holds.COLLECTIVE in held(later) for later in done[i + 1 :]):
            steps[i] = (*(look for look in looks if look not in steps[i]), *steps[i])
    return _skipping(tuple(action for block in steps for action in block))


def _looks(deeds: Deeds, test: ast.expr) -> list[Touch]:
    """The files that a test looks for."""
    calls = (n for n in ast.walk(test) if isinstance(n, ast.Call))
    return [touch for call in calls for touch in deeds.of(call) if touch.deed is Deed.LOOK]


def _returns(test: ast.If) -> bool:
    """Whether one of the arms of a test leaves the function, so that what follows is left out."""
    return any(isinstance(arm[-1], ast.Return) for arm in (test.body, test.orelse) if arm)


def _skipping(block: Block) -> Block:
    """The same steps, with each test marked that does nothing but leave out a training that follows in its block."""
    if not any(isinstance(action, Choice) for action in block):
        return block
    return tuple(
        replace(action, skips=True)
        if isinstance(action, Choice) and _goes_on(action) and _trains(block[i + 1 :])
        else action
        for i, action in enumerate(block)
    )


def _goes_on(choice: Choice) -> bool:
    match choice.yes, choice.no:
        case ([Leave(how=Exit.CONTINUE)], []) | ([], [Leave(how=Exit.CONTINUE)]):
            return True
    return False


def _trains(block: Block) -> bool:
    return any(isinstance(action, Together) and action.trains for action in everything(block))


__all__ = ["joined"]
