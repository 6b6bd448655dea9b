"""What a program keeps by the numbers of steps: a rate for some of them, `rates = {0: 0.1, 500: 0.01}`. Part of G5.

A rank takes size() times fewer steps, so the numbers are divided where they are looked up, as those of a list are:

`if step in rates: …rates[step]`  → `if step in [k and max(1, k // hvd.size()) for k in rates]:`
                                    `…{k and max(1, k // hvd.size()): rates[k] for k in rates}[step]`

Only in what the program is given, and changes nowhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.syntax import position
from horovodize.rules.counts import thresholds
from horovodize.rules.drafting.decisions import Divided
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.numbers import counted
from horovodize.source import Edit

_FILLING = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popleft",
        "remove",
        "setdefault",
        "update",
    }
)
_SETTINGS = ("full_load", "load", "loads", "parse_args", "safe_load")
_MADE_OF = ("dict", "frozenset", "list", "range", "set", "sorted", "tuple")


def apply(draft: Draft) -> None:
    for table in sorted(_looked_up(draft), key=position):
        if can_divide(draft, table) and draft.decide(table, Divided("G5")):
            k, text = draft.same_name("k"), draft.module.text(table)
            edits = Edit.around(
                draft.module.span(table), f"{{{k} and max(1, {k} // {SIZE}): {text}[{k}] for {k} in ", "}"
            )
            draft.change("G5", table, thresholds.WHAT, thresholds.WHY, edits, decision=Decision.DIVIDED)


def _looked_up(draft: Draft) -> Iterator[ast.expr]:
    """The tables in which something is looked up by a count of a rank's steps, `rates[step]`, `rates.get(step, rate)`."""
    for e in draft.syntax.every(ast.Subscript) if draft.facts.counters.exist else ():
        if isinstance(e.ctx, ast.Load) and counted.of(draft, e.slice) is not None:
            yield e.value
    for call in draft.sites.method_calls("get"):
        if call.args and isinstance(call.func, ast.Attribute) and counted.of(draft, call.args[0]) is not None:
            yield call.func.value


def is_table(draft: Draft, e: ast.expr) -> bool:
    """Whether something is a dictionary: by what it is made of, or as it is asked whether it has a key."""
    if any(isinstance(o.node, ast.Dict) for o in draft.values.origins(e)):
        return True
    text = ast.unparse(e)
    return any(
        isinstance(test.ops[0], (ast.In, ast.NotIn)) and ast.unparse(test.comparators[0]) == text
        for test in draft.syntax.every(ast.Compare)
    )


def can_divide(draft: Draft, table: ast.expr) -> bool:
    """Whether the numbers of a table can be divided where they are looked up."""
    return is_table(draft, table) and is_given(draft, table) and counted.is_whole(draft, table)


def is_given(draft: Draft, e: ast.expr) -> bool:
    """Whether numbers are those that a program is given or lists, and changes nowhere."""
    match e:
        case ast.Name():
            bound = draft.module.scopes.reaching(e)
        case ast.Attribute():
            bound = draft.values.attribute_bindings(e)
        case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Constant()):
            if not is_given(draft, whole):
                return False
            bound = []
        case _:
            return False
    if any(b.kind != "assign" or draft.syntax.loops(b.statement) for b in bound) or is_filled(draft, e):
        return False
    made = [o.node for o in draft.values.origins(e) if o.node is not e]
    return all(isinstance(n, ast.expr) and _is_listed(draft, n) for n in made) and (
        bool(made) or not isinstance(e, ast.Name)
    )


def _is_listed(draft: Draft, e: ast.expr) -> bool:
    """Whether something is written out, or a setting: no number that is computed while it trains."""
    match e:
        case ast.Constant() | ast.Attribute() | ast.Name():
            return True
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            return all(_is_listed(draft, n) for n in elts)
        case ast.Dict(keys=keys):
            return all(isinstance(k, ast.Constant) for k in keys)
        case ast.BinOp(left=left, right=right):
            return _is_listed(draft, left) and _is_listed(draft, right)
        case ast.Call(func=ast.Name(id=name), args=args) if name in _MADE_OF:
            return all(_is_listed(draft, a) for a in args)
        case ast.Call(func=func):
            return draft.names.last(func) in _SETTINGS and draft.values.callee(e) is None
    return False


def is_filled(draft: Draft, e: ast.expr) -> bool:
    """Whether the program puts something into it, or takes something out."""
    text = ast.unparse(e)
    called = draft.sites.method_calls(*_FILLING)
    if any(isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == text for c in called):
        return True
    stored = (n for n in draft.syntax.every(ast.Subscript) if not isinstance(n.ctx, ast.Load))
    return any(ast.unparse(n.value) == text for n in stored)


__all__ = ["apply", "can_divide", "is_filled", "is_given", "is_table"]
