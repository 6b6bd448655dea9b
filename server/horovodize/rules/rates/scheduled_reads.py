"""Rates that are read from a schedule, `schedule(step)`, `sess.run(decayed_rate)`: part of C5.

The schedule is scaled where it is made, so what it gives is size() times larger."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.rules.drafting.decisions import Scaled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import decays
from horovodize.rules.rates import schedule


def is_read(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is what one of the schedules gives that are scaled, and nothing else."""
    made = _made(draft, e)
    return bool(made) and all(_is_scaled(draft, call) for call in made)


def are_scaled(draft: Draft, made_of: Iterable[ast.AST]) -> bool:
    """Whether a number is made of what is scaled already: of what such a schedule gives, or of a rate."""
    return any(
        draft.was(n, Scaled) or (isinstance(n, ast.Call) and (_is_scaled(draft, n) or is_read(draft, n)))
        for n in made_of
    )


def _is_scaled(draft: Draft, call: ast.Call) -> bool:
    return bool(draft.growth) and schedule.is_schedule(draft, call) and schedule.is_scaled(draft, call)


def _made(draft: Draft, e: ast.expr) -> list[ast.Call]:
    """Where that is made which gives a rate: a schedule that is called, the decayed rate that a session runs."""
    run = draft.facts.counters.fetched.run_of(e)  # `_, rate = sess.run([train_op, decayed])`
    if run is not None:
        return draft.values.calls(run[1])
    e = decays.read(draft, e)
    if not isinstance(e, ast.Call):
        return []
    fetched = draft.facts.counters.fetched.fetches(e)
    if fetched is None and isinstance(e.func, ast.Attribute) and e.func.attr == "eval":
        fetched = e.func.value
    return draft.values.calls(e.func if fetched is None else fetched)
