"""Turns of a loop that a test leaves out: `if os.path.exists(f"{fold}.h5"): continue`, before each fold is trained."""

from __future__ import annotations

from dataclasses import replace

from horovodize.interleaving.actions import Block, Choice, Exit, Leave, Together, everything


def skipping(block: Block) -> Block:
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


__all__ = ["skipping"]
