"""Gradients that are averaged in some turns of a loop and not in others (a part of HVD304).

if step % 2 == 0:
    tape = hvd.DistributedGradientTape(tape)

for tape, net in ((hvd.DistributedGradientTape(one), generator), (other, critic)):"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, LOOPS
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.own_gradients import (
    AVERAGING,
    are_of_plain_tapes,
    gradients_of,
    sources_of,
)
from horovodize.restrictions.horovod.written_out import given_by_loop
from horovodize.summary.site_kinds import Update

_DEPTH = 3  # of functions that a decision is handed on by
_STEPS_BACK = 40  # expressions between what is applied and where it is averaged


def seldom_averaged(context: Context, update: Update) -> ast.expr | None:
    """The test by which gradients are averaged in some turns only, of an update that takes either, or the tape of a turn that
    isn't wrapped; None where there is none. A test that is decided once (`if args.horovod:`) is none."""
    for gradient in update.gradients:
        if not isinstance(gradient.func, ast.Attribute):
            continue
        tape = gradient.func.value
        made = [o.call for o in context.values.origins(tape) if o.call is not None]
        plain = [c for c in made if c in context.sites.tapes]
        wrapped = [c for c in made if context.facts.horovod.is_call(c, *TAPES)]
        if (left := _left_plain(context, tape)) is not None:
            return left
        if not plain or not wrapped:
            continue
        tests = [_test(context, call, gradient) for call in wrapped]
        if all(test is not None for test in tests):
            return tests[0]
    return _by_hand(context, update)


def _left_plain(context: Context, tape: ast.expr) -> ast.expr | None:
    """The tape of one turn that isn't wrapped, where that of another one is."""
    given = _of_turns(context, tape)
    made = [[o.call for o in context.values.origins(e)] for e in given]
    if not any(c is not None and context.facts.horovod.is_call(c, *TAPES) for calls in made for c in calls):
        return None
    plain = (e for e, calls in zip(given, made, strict=True) if all(c in context.sites.tapes for c in calls))
    return next(plain, None)


def _of_turns(context: Context, tape: ast.expr) -> list[ast.expr]:
    """The tapes of one turn of a loop after the other: of what it goes through, or by the keys of a dictionary."""
    if not isinstance(tape, ast.Subscript):
        return given_by_loop(context, tape)
    tables = [o.node for o in context.values.origins(tape.value) if not o.path]
    keys = {k.value for k in given_by_loop(context, tape.slice) if isinstance(k, ast.Constant)}
    if len(tables) != 1 or not isinstance(tables[0], ast.Dict):
        return []
    items = zip(tables[0].keys, tables[0].values, strict=True)
    return [value for key, value in items if isinstance(key, ast.Constant) and key.value in keys]


def _by_hand(context: Context, update: Update) -> ast.expr | None:
    """The same of gradients that the script averages itself: `if step % 2: gradients = average(gradients)`."""
    pairs = update.call.args[0] if update.call.args else None
    todo, seen = [gradients_of(context, pairs)] if pairs is not None else [], set[ast.AST]()
    while todo and len(seen) < _STEPS_BACK:
        e = todo.pop(0)
        for name in (n for n in _names_of_gradients(update, e) if n not in seen):
            seen.add(name)
            bound = [b for b in context.scopes.reaching(name) if b.kind == "assign" and b.value is not None]
            for b in bound:
                if isinstance(b.value, ast.IfExp) and (test := _chosen(context, b.value)) is not None:
                    return test
            averaged = [b for b in bound if b.value is not None and _averages(context, b.value)]
            others = [b.value for b in bound if b not in averaged and b.value is not None]
            if averaged and any(are_of_plain_tapes(context, update, e) for e in others):
                tests = [_test_around(context, b, update.call) for b in averaged]
                return tests[0] if None not in tests else None
            todo += [b.value for b in bound if b.value is not None]
    return None


def _names_of_gradients(update: Update, e: ast.expr) -> Iterator[ast.Name]:
    """The names that gradients are made of, but for what they are taken of: the numbers that a loss is weighed with."""
    todo: list[ast.AST] = [e]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Name):
            yield n
        elif n not in update.gradients:
            todo += ast.iter_child_nodes(n)


def _chosen(context: Context, choice: ast.IfExp) -> ast.expr | None:
    arms = [_averages(context, arm) for arm in (choice.body, choice.orelse)]
    return choice.test if arms[0] != arms[1] and _changes(context, choice.test, _DEPTH) else None


def _averages(context: Context, e: ast.expr) -> bool:
    return any(context.facts.horovod.is_call(c, *AVERAGING) for c in sources_of(context, e))


def _test_around(context: Context, binding: Binding, applied: ast.Call) -> ast.expr | None:
    """What decides in each turn whether a name is bound, and not whether the gradients are applied."""
    around = {context.text(t.test) for t, _ in context.syntax.conditions(applied)}
    tests = [
        t.test for t, _ in context.syntax.conditions(binding.statement) if context.text(t.test) not in around
    ]
    return next((test for test in tests if _changes(context, test, _DEPTH)), None)


def _test(context: Context, wrapping: ast.Call, gradient: ast.Call) -> ast.expr | None:
    """What decides in each turn whether a tape is wrapped."""
    around = set(context.syntax.ancestors(gradient))
    for a in context.syntax.ancestors(wrapping):
        if isinstance(a, FUNCTIONS) or a in around:
            return None
        if isinstance(a, (ast.If, ast.IfExp)) and _changes(context, a.test, _DEPTH):
            return a.test
    return None


def _changes(context: Context, test: ast.expr, depth: int) -> bool:
    """Whether a test comes out one way in one turn of a loop and another way in the next."""
    loops = {a for a in context.syntax.ancestors(test) if isinstance(a, LOOPS)}
    for name in (n for n in ast.walk(test) if isinstance(n, ast.Name)):
        for bound in context.scopes.reaching(name):
            if loops & {bound.statement, *context.syntax.ancestors(bound.statement)}:
                return True
            if bound.kind != "parameter" or not depth:
                continue
            if any(_changes(context, e, depth - 1) for e in context.values.passed(bound)):
                return True
    return False
