"""Callbacks and session hooks that can't be seen into: part of K3, M1, M4 and E1.

    callbacks = [CyclicLR(base_lr=1e-4, max_lr=1e-2, step_size=2000)]

Every rank runs such a one. That of another package may set the rate to that of one process, or go by a number of batches that a
rank comes to size() times later. So may a class of the program that is derived from one (`class Cycle(CyclicLR)`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Literal

from horovodize import catalogue
from horovodize.rules.drafting.draft import Draft

_PLAIN = ("object",)
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


def inherits(draft: Draft, cls: ast.ClassDef, role: Callable[[str], str]) -> bool:
    """Whether a class of the program has methods of one that can't be seen into.

    role  what the catalogue says of a callback or a hook of that name"""
    family = draft.values.family(cls)
    return any(_is_unseen(draft, base, family, role) for member in family for base in member.bases)


def _is_unseen(draft: Draft, base: ast.expr, family: set[ast.ClassDef], role: Callable[[str], str]) -> bool:
    name = draft.names.of(base)
    if name is not None:
        known = role(name) != "unknown" or catalogue.cls(name) is not None
        return not known and name.split(".", maxsplit=1)[0] not in sys.stdlib_module_names
    inner = draft.values.base_class(base)
    if inner is not None:
        return inner not in family
    return not (isinstance(base, ast.Name) and base.id in _PLAIN) and not isinstance(base, ast.Subscript)


__all__ = ["ask", "inherits"]
