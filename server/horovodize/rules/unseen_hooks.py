"""Callbacks and session hooks that can't be seen into: part of K3, M1, M4 and E1.

    callbacks = [CyclicLR(base_lr=1e-4, max_lr=1e-2, step_size=2000)]

Every rank runs such a one. That of another package may set the rate to that of one process, or go by a number of batches that a
rank comes to size() times later."""

from __future__ import annotations

import ast
from typing import Literal

from horovodize.rules.draft import Draft

_WHAT = "Let this {} do on all ranks together what it does in one process"
_WHY = "A rank trains at size() times the rate, and takes 1/size() of the batches."
_ASKED = (
    "every rank runs this {}, and what it does can't be seen: leave files that it writes to rank 0, and let rates that it sets "
    "and steps that it goes by change as the others do here, to `rate * hvd.size()` and `steps // hvd.size()`"
)
_NOTE = "every rank runs this {}, and what it does can't be seen: check that only rank 0 writes files"


def ask(draft: Draft, rule: str, element: ast.expr, what: Literal["callback", "hook"]) -> None:
    """Asks what an element of a list does, where rates or numbers of steps are others on a rank; else it is noted."""
    if not draft.once("unseen hook", element):
        return
    if draft.divided or draft.growth:
        draft.ask(rule, element, _WHAT.format(what), _WHY, _ASKED.format(what))
    else:
        draft.note(rule, element, _NOTE.format(what))


__all__ = ["ask"]
