"""Steps that stand in a list, `if step in SAVED:`, or that a program is given, `if step in args.milestones:`: part of G5."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.rules.counts import tables_by_step, thresholds
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.source import Edit


def divide(draft: Draft, test: ast.expr, step: ast.expr, numbers: ast.expr) -> bool:
    """Divides each number of such a list; the first step stays the first, and the last of a loop whose number is the same on
    ranks as alone the last. Whether it is one."""
    if not are_listed(draft, numbers) or not draft.decide(numbers, Divided("G5")):
        return False
    k = draft.same_name("k")
    last = counted.last_turn(draft, step)
    fewer = f"{k} and max(1, {k} // {SIZE})" + (f" if {k} < {last} else {k}" if last is not None else "")
    edits = Edit.around(draft.module.span(numbers), f"[{fewer} for {k} in ", "]")
    draft.change("G5", test, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.DIVIDED)
    return True


def are_listed(draft: Draft, numbers: ast.expr) -> bool:
    """Whether an expression is a list of numbers that is written out or given, and changes nowhere."""
    made = [o.node for o in draft.values.origins(numbers) if not o.path]
    listed = [
        n
        for n in made
        if isinstance(n, (ast.List, ast.Tuple, ast.Set)) and all(map(_is_whole_number, n.elts))
    ]
    is_fixed = len(made) == 1 and bool(listed) and _is_fixed_name(draft, numbers)
    return is_fixed or (tables_by_step.is_given(draft, numbers) and counted.is_whole(draft, numbers))


def _is_whole_number(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) is int


def _is_fixed_name(draft: Draft, e: ast.expr) -> bool:
    """Whether a name is set once, and nothing is done with it but asking what is in it."""
    if not isinstance(e, ast.Name) or len(draft.module.scopes.reaching(e)) != 1:
        return False
    reads = [n for n in draft.module.loads.get(e.id) if isinstance(n, ast.Name)]
    return all(isinstance(draft.syntax.parent[n], ast.Compare) for n in reads)
