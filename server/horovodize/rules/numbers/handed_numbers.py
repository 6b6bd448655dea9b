"""Where functions of the program read a count of steps that they are handed, and whether it is adapted there: part of G5.

`noisy(x, step)`, and `step / 300` in it: the formula is told the steps of all ranks where it stands. Told them by the call,
too, it would take them for size() times as many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.decisions import Counted, Divided, OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted

_NUMBERS = frozenset("max min maximum minimum clip clip_by_value int float abs round cast constant".split())
_DEPTH = 6  # functions that hand a number on to each other


def uses(draft: Draft, read: ast.expr, depth: int = _DEPTH) -> Iterator[ast.expr]:
    """The places where functions read a number that a call hands them, as a part of what it gives; handed on, those where
    it ends up."""
    for parameter in _parameters(draft, read):
        for name in _reads(draft, parameter):
            further = [*uses(draft, name, depth - 1)] if depth else []
            yield from further or [name]


def reads_on_the_way(draft: Draft, read: ast.expr, depth: int = _DEPTH) -> Iterator[ast.expr]:
    """The same, with the places where functions hand it on to others."""
    for parameter in _parameters(draft, read):
        for name in _reads(draft, parameter):
            yield name
            yield from reads_on_the_way(draft, name, depth - 1) if depth else ()


def is_adapted(draft: Draft, use: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a rule has told a place the steps of all ranks, or divided what they are compared with or divided by there; of
    what a name is set to, `s = float(step)`, where that is read."""
    child: ast.AST = use
    for a in draft.syntax.ancestors(use):
        if draft.was(child, OfAll):
            return True
        if isinstance(a, (ast.Compare, ast.BinOp)):
            beside = (n for n in ast.walk(a) if n is not use)
            if any(draft.was(n, OfAll, Divided, Counted) for n in beside):
                return True
        if isinstance(a, ast.Lambda):
            return False  # what it gives is not the number
        if isinstance(a, ast.stmt):
            read_later = _reads_of(draft, a) if isinstance(a, ast.Assign) and depth else ()
            return any(is_adapted(draft, n, depth - 1) for n in read_later)
        child = a
    return False


def _reads_of(draft: Draft, assigned: ast.Assign) -> Iterator[ast.Name]:
    names = [t.id for t in assigned.targets if isinstance(t, ast.Name)]
    for n in (n for name in names for n in draft.module.loads.get(name) if isinstance(n, ast.Name)):
        if any(b.statement is assigned for b in draft.module.scopes.reaching(n)):
            yield n


def is_told_inside(draft: Draft, read: ast.expr) -> bool:
    """Whether a function that a number is handed to goes by the steps of all ranks somewhere in it already: so it has to in the
    rest of it, and not by the call."""
    return any(is_adapted(draft, use) for use in uses(draft, read))


def other_calls(draft: Draft) -> Iterator[ast.expr]:
    """What other calls hand a function that one call, or several, have told the steps of all ranks: it goes by those. Not what
    such a call hands on that is no count of a rank's steps."""
    told = [n for n in draft.having(OfAll) if isinstance(n, ast.expr)]
    for parameter, function in dict.fromkeys(_told_functions(draft, told)):
        if any(is_adapted(draft, use) for use in _reads(draft, parameter)):
            continue  # not by the call, then
        bound = draft.module.scopes.names.get(function, {}).get(parameter.arg, [])
        for given in (e for b in bound if b.anchor is parameter for e in draft.values.passed(b)):
            for read, _ in draft.facts.counters.reads(given):
                if counted.of(draft, read) is not None and not draft.was(read, OfAll):
                    yield read


def _told_functions(draft: Draft, told: list[ast.expr]) -> Iterator[tuple[ast.arg, ast.AST]]:
    for read in told:
        for parameter in _parameters(draft, read):
            yield parameter, draft.syntax.parent[draft.syntax.parent[parameter]]


def _reads(draft: Draft, parameter: ast.arg) -> Iterator[ast.Name]:
    for name in draft.module.loads.get(parameter.arg):
        bound = draft.module.scopes.reaching(name) if isinstance(name, ast.Name) else []
        if isinstance(name, ast.Name) and any(b.anchor is parameter for b in bound):
            yield name


def _parameters(draft: Draft, read: ast.expr) -> Iterator[ast.arg]:
    """The parameters of functions of the program that a value is given for, in the innermost call around it, but those that
    make a number of it: `weight(max(0, step - warm_up))`."""
    around = (a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.Call, ast.stmt)))
    call = next((a for a in around if not _gives_number(draft, a)), None)
    if not isinstance(call, ast.Call):
        return
    for function in draft.values.graph.runs(call):
        if not isinstance(function, CALLABLES):
            continue
        a = function.args
        for parameter in (*a.posonlyargs, *a.args, *a.kwonlyargs):
            bound = draft.module.scopes.names.get(function, {}).get(parameter.arg, [])
            given = [e for b in bound if b.anchor is parameter for e in draft.values.passed(b)]
            if any(e is read or draft.syntax.inside(read, e) for e in given):
                yield parameter


def _gives_number(draft: Draft, call: ast.AST) -> bool:
    """`max(0, step)`, `tf.cast(step, tf.float32)`, of libraries"""
    is_one = isinstance(call, ast.Call) and draft.names.last(call.func) in _NUMBERS
    return is_one and isinstance(call, ast.Call) and not draft.values.graph.runs(call)


__all__ = ["is_adapted", "is_told_inside", "other_calls", "reads_on_the_way", "uses"]
