"""Failures of training that a handler swallows: on several ranks they end the run. Part of G4.

    try:
        for step in range(1000):
            …
    except Exception as error:
        print(error)

A rank that fails there goes on alone, and ends as if nothing had happened; the others wait for it forever. One process does
what it did."""

from __future__ import annotations

import ast

from horovodize.facts.differences import swallowed
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.summary.call_paths import Frame

_WHAT = "Let a failure end the run"
_ON_ONE_LINE = "where training fails on one rank, the others wait for it; put this handler's statements on lines of their own"
_WHY = "Where training fails on one rank, the others would wait for it forever."


def end_the_run(draft: Draft, way: tuple[Frame, ...]) -> None:
    """Raises the exception again at the end of the handlers around training, where nothing tries again."""
    for i, frame in enumerate(way):
        for handler, tried in swallowed.around(draft.module, frame):
            if swallowed.may_end_the_run(draft.module, handler, tried, frame, way[i + 1 :]) and draft.once(
                "ends", handler
            ):
                _raise_again(draft, handler)


def _raise_again(draft: Draft, handler: ast.ExceptHandler) -> None:
    last = handler.body[-1]
    lines = [f"if {SIZE} > 1:", "    raise  # the other ranks would wait for this one"]
    if isinstance(last, ast.Return) and draft.can_insert(last):
        draft.change("G4", last, _WHAT, _WHY, [draft.before(last, lines)])
    elif not isinstance(last, ast.Return) and draft.can_put_after(last):
        draft.change("G4", last, _WHAT, _WHY, draft.put_after(last, lines))
    else:
        draft.refuse("HVD205", handler, _ON_ONE_LINE)
