"""The rate that training starts with, where a schedule makes it."""

from __future__ import annotations

import ast
import re

from horovodize.facts.rates.schedule_rates import FIRST_RATES, SCHEDULES
from horovodize.python.syntax import argument, has_unpacking
from horovodize.restrictions.context import Context

_SCHEDULE = SCHEDULES + "LearningRateSchedule"
_LIKE_A_RATE = re.compile(r"lr|rate|peak|base|initial|init|max", re.IGNORECASE)


def first_rate(context: Context, rate: ast.expr) -> ast.expr:
    """The rate that training starts with: of a schedule, its first one."""
    made = context.values.calls(rate)
    if len(made) == 1 and (own := _of_own_class(context, made[0])) is not None:
        return own
    if len(made) != 1 or (place := FIRST_RATES.get(context.names.of(made[0].func) or "")) is None:
        return rate
    first = argument(made[0], *place)
    if first is None:
        return rate
    lists = [o.node for o in context.values.origins(first) if isinstance(o.node, (ast.List, ast.Tuple))]
    if len(lists) == 1 and lists[0].elts and not isinstance(lists[0].elts[0], ast.Starred):
        return lists[0].elts[0]
    each = [o.node for o in context.values.origins(first) if isinstance(o.node, ast.ListComp)]
    return each[0].elt if len(each) == 1 and not lists else first


def _of_own_class(context: Context, made: ast.Call) -> ast.expr | None:
    """The rate that a schedule of the script's own is made with: the only one of its arguments that grows with the number of
    ranks, or that is called like a rate."""
    owner = context.values.callee(made)
    if not isinstance(owner, ast.ClassDef) or _SCHEDULE not in context.values.ancestors(owner):
        return None
    begins = list(context.values.definitions.methods_of("__init__", frozenset([owner])))
    if len(begins) != 1 or has_unpacking(made):
        return None
    names = [a.arg for a in begins[0].args.args[1:]]
    given = {n: e for i, n in enumerate(names) if (e := argument(made, n, i)) is not None}
    scaled = [e for e in given.values() if context.facts.horovod.most(e) == 1]
    called = [e for n, e in given.items() if _LIKE_A_RATE.search(n)]
    if len(scaled) == 1:
        return scaled[0]
    return called[0] if len(called) == 1 and not scaled else None
