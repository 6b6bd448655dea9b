"""Pipelines that give their elements in whichever order those are ready, before the ranks take their parts of them: part of D1.

`interleave(…, deterministic=False)` gives another order in each process, so every size()-th element of it is no part of
anything: some would be on several ranks, others on none. On several ranks it is made to keep the order.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Agreed, How
from horovodize.rules.drafting.draft import SIZE, Draft, needs_parentheses
from horovodize.rules.numbers.shares import feeding, is_none
from horovodize.source import Edit

_WHAT = "Keep the order on several ranks"
_WHY = "Every rank takes its part of the same order; as elements come, the parts would overlap and leave some out."
# Arguments that let go of the order: by what value, and where they stand.
_KEEPING = "deterministic"
_LETTING_GO = ("sloppy", "sloppy_ordering")
_OPTIONS = ("deterministic", "experimental_deterministic")
_POSITIONS = {"parallel_interleave": 3}


def keep(draft: Draft, place: ast.expr) -> None:
    """Makes what comes before the division of a pipeline at `place` keep the order."""
    pipelines = feeding(draft).pipelines
    made = {o.node for e in pipelines.trail(place) for o in draft.values.origins(e)}
    steps = {*pipelines.steps(place), *(n for n in made if isinstance(n, ast.Call))}
    given = [
        a for step in steps for a in step.args if isinstance(a, ast.Call)
    ]  # `apply(parallel_interleave(…))`
    for call in sorted({*steps, *given}, key=lambda c: draft.module.span(c).start):
        keeping = argument(call, _KEEPING)
        if keeping is not None and not is_none(keeping):
            _keep(draft, keeping)
        for name in _LETTING_GO:
            letting = argument(call, name, _POSITIONS.get(draft.names.last(call.func)))
            if letting is not None and not is_none(letting):
                _never_let_go(draft, letting)
    for value in _options(draft):
        _keep(draft, value)


def _options(draft: Draft) -> list[ast.expr]:
    """What a program sets of `tf.data.Options`, which hold for all that a pipeline does."""
    found = []
    for statement in draft.syntax.every(ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and target.attr in _OPTIONS:
                made = draft.values.calls(target.value)
                if any(draft.names.of(c.func) == "tensorflow.data.Options" for c in made):
                    found.append(statement.value)
    return found


def _keep(draft: Draft, value: ast.expr) -> None:
    """`False` → `hvd.size() > 1`; `not training` → `hvd.size() > 1 or (not training)`."""
    if isinstance(value, ast.Constant) and value.value:
        return
    _change(draft, value, f"{SIZE} > 1", "or")


def _never_let_go(draft: Draft, value: ast.expr) -> None:
    """`True` → `hvd.size() == 1`; `fast` → `hvd.size() == 1 and fast`."""
    if isinstance(value, ast.Constant) and not value.value:
        return
    _change(draft, value, f"{SIZE} == 1", "and")


def _change(draft: Draft, value: ast.expr, alone: str, word: str) -> None:
    if not draft.decide(value, Agreed("D1", How.TOGETHER)):
        return
    span = draft.module.span(value)
    if isinstance(value, ast.Constant):
        edits: tuple[Edit, ...] = (Edit(span, alone),)
    else:
        opening, closing = ("(", ")") if needs_parentheses(value) else ("", "")
        edits = Edit.around(span, f"{alone} {word} {opening}", closing)
    draft.change("D1", value, _WHAT, _WHY, edits)
