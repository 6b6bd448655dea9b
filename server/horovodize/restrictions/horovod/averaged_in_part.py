"""Gradients that are averaged in some turns of a loop and not in others (a part of HVD304)."""

from __future__ import annotations

import ast

from horovodize.facts.horovod_use import TAPES
from horovodize.restrictions.context import Context
from horovodize.summary.site_kinds import Update
from horovodize.summary.syntax import FUNCTIONS, LOOPS

_DEPTH = 3  # of functions that a decision is handed on by


def seldom_averaged(context: Context, update: Update) -> ast.expr | None:
    """The test by which a tape is wrapped in some turns only, of an update that takes the gradients of either; None where
    there is none. A test that is decided once (`if args.horovod:`) is none."""
    for gradient in update.gradients:
        if not isinstance(gradient.func, ast.Attribute):
            continue
        made = [o.call for o in context.values.origins(gradient.func.value) if o.call is not None]
        plain = [c for c in made if c in context.sites.tapes]
        wrapped = [c for c in made if context.facts.horovod.is_call(c, *TAPES)]
        if not plain or not wrapped:
            continue
        tests = [_test(context, call, gradient) for call in wrapped]
        if all(test is not None for test in tests):
            return tests[0]
    return None


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
