"""Decisions that are taken from an iterator, one with each step: part of G5.

`due = itertools.cycle([False] * 99 + [True])` and `if next(due):` comes with every 100th step. A rank takes size() times fewer
steps, so each of them takes the decisions of size() steps: `if any([next(due) for _ in range(hvd.size())]):`, and does once for
each what goes on from its last value (`rate *= 0.9`). What tells which
updates go with which, or what a step is fed, stays as it is: see G5.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.counts import crossings, repeated_events, thresholds
from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import Asked, Decided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import guarded, with_each_step
from horovodize.source import Edit
from horovodize.source.nodes import walk

_ITERATORS = (
    "itertools.cycle",
    "itertools.chain",
    "itertools.repeat",
    "itertools.accumulate",
    "itertools.islice",
)
_ASKED = (
    "a rank takes size() times fewer steps, and each of them takes one decision from an iterator: let it take those of all "
    "ranks' steps, unless it is of a rank's own ones"
)
_SEVERAL = (
    "a rank takes size() times fewer steps, and what is done here goes on from its last value: do it once for each of the "
    "decisions of all ranks' steps"
)
_WRITTEN = (ast.List, ast.Tuple, ast.Constant, ast.ListComp, ast.BinOp)


def apply(draft: Draft) -> None:
    for decision in (
        draft.syntax.every(ast.If, ast.IfExp, ast.While) if draft.module.calls_called("next") else ()
    ):
        for test in _tests(decision.test):
            _decide(draft, decision, test)


def _tests(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that are joined by `and` and `or`."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _tests(value)
    else:
        yield test


def _decide(draft: Draft, decision: ast.If | ast.IfExp | ast.While, test: ast.expr) -> None:
    taken = [n for n in walk(test) if isinstance(n, ast.Call) and _gives_decisions(draft, n)]
    named = [call for n in walk(test) if isinstance(n, ast.Name) for call in _set_to(draft, n)]
    found = next((call for call in (*taken, *named) if with_each_step.is_by_step(draft, call)), None)
    if found is None or any(draft.was(n, Decided) for n in walk(test)) or only_shows(draft, test):
        return
    if guarded.is_ratio(draft, test, test) or guarded.trains(draft, test):
        return
    draft.decide(test, Asked("G5"))
    several = crossings.goes_on_itself(draft, test)
    decision_alone = repeated_events.repeatable(draft, test) if several else None
    if len(taken) == 1 and not named and decision_alone is not None:
        edits = repeated_events.each(draft, decision_alone)
        draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.COUNTED)
        return
    if several:
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _SEVERAL)
        return
    if len(taken) == 1 and not named and not isinstance(decision, ast.While):
        any_of = Edit.around(draft.module.span(test), "any([", f" for _ in range({SIZE})])")
        draft.change("G5", test, thresholds.WHAT, thresholds.WHY, any_of, decision=Decision.COUNTED)
        return
    draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED)


def _set_to(draft: Draft, name: ast.Name) -> Iterator[ast.Call]:
    """`next(due)` of `is_due = next(due)`."""
    for b in draft.module.scopes.reaching(name):
        if (
            b.kind == "assign"
            and not b.path
            and isinstance(b.value, ast.Call)
            and _gives_decisions(draft, b.value)
        ):
            yield b.value


def _gives_decisions(draft: Draft, call: ast.Call) -> bool:
    """Whether a call takes the next one of something that the program writes out or makes of constants, no rows."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "next" and call.args):
        return False
    made = _made(draft, call.args[0])
    return bool(made) and all(_is_written(draft, c) for c in made)


def _made(draft: Draft, iterator: ast.expr) -> list[ast.Call]:
    """What makes an iterator: of a name, the calls that it is set to, also those of generators."""
    bound = draft.module.scopes.reaching(iterator) if isinstance(iterator, ast.Name) else []
    values = [b.value for b in bound if b.kind == "assign" and not b.path]
    if values and len(values) == len(bound) and all(isinstance(v, ast.Call) for v in values):
        return [v for v in values if isinstance(v, ast.Call)]
    return draft.values.calls(iterator)


def _is_written(draft: Draft, made: ast.Call) -> bool:
    function = draft.values.callee(made)
    if isinstance(function, FUNCTIONS):  # a generator of the program's own
        yielded = [n.value for n in walk(function) if isinstance(n, ast.Yield)]
        return bool(yielded) and all(isinstance(e, (ast.Constant, ast.Compare)) for e in yielded)
    func = made.func
    is_iter = isinstance(func, ast.Name) and func.id == "iter" and draft.module.scopes.is_builtin(func)
    return (
        (is_iter or draft.names.of(func) in _ITERATORS)
        and bool(made.args)
        and all(isinstance(a, _WRITTEN) for a in made.args)
    )
