"""The numbers that an expression computes with, and the lists that they are read from: `mean` and `best` of `mean < best`,
`losses` of `min(losses[-3:])`."""

from __future__ import annotations

import ast
from typing import TypeAlias

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import differing

_PLAIN = {"float", "abs", "min", "max", "minimum", "maximum", "round", "numpy", "item"}
BEST_OF = ("min", "max", "amin", "amax", "nanmin", "nanmax")
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
Held: TypeAlias = ast.Name | ast.Attribute | ast.Subscript


def leaves(draft: Draft, e: ast.expr, number: bool) -> list[tuple[ast.expr, bool]]:
    """The values that an expression computes with, and whether each is a number. Whether there is one, `best is not None`, is
    the same on all ranks once they agree on the others."""
    found, asked, todo = list[tuple[ast.expr, bool]](), list[ast.Compare](), [(e, number)]
    while todo:
        n, is_number = todo.pop()
        if isinstance(n, ast.Call) and _computes(draft, n) and draft.values.callee(n) is None:
            of = [n.func.value] if isinstance(n.func, ast.Attribute) and not n.args else []
            todo += [(part, is_number) for part in (*of, *n.args)]
        elif isinstance(n, ast.Call) and (each := _each(draft, n)) is not None:
            todo.append((each, False))
        elif isinstance(n, ast.Compare) and _asks_for_none(n):
            asked.append(n)
        elif isinstance(n, _VALUES):
            several = isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)
            found.append((n, is_number and not several))
        else:
            counts = is_number or isinstance(n, ast.BinOp) or _is_of_numbers(draft, n)
            todo += [(c, counts) for c in ast.iter_child_nodes(n) if isinstance(c, ast.expr)]
    others = {reason.where for leaf, _ in found for reason in differing(draft, leaf)}
    return found + [(n.left, False) for n in asked if {r.where for r in differing(draft, n)} - others]


def held_in(e: ast.expr) -> list[Held]:
    """The names, attributes and items of dictionaries that are read in an expression: `log["loss"]` rather than `log`."""
    found, todo = list[Held](), [e]
    while todo:
        n = todo.pop()
        if isinstance(n, (ast.Name, ast.Attribute)) or (isinstance(n, ast.Subscript) and is_item(n)):
            found.append(n)
        if not isinstance(n, ast.Subscript) or n not in found:
            todo += [c for c in ast.iter_child_nodes(n) if isinstance(c, ast.expr)]
    return found


def list_of(draft: Draft, held: Held) -> Held:
    """What a name is another one for, `values = self.log["loss"]`; else itself."""
    bound = draft.module.scopes.reaching(held) if isinstance(held, ast.Name) else []
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path else None
    if isinstance(value, ast.Attribute) or (isinstance(value, ast.Subscript) and is_item(value)):
        return value
    return held


def _each(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What is asked of each in `any(h.is_enough(loss) for h in hooks)`."""
    if draft.names.last(call.func) not in ("any", "all") or len(call.args) != 1:
        return None
    asked = call.args[0]
    return asked.elt if isinstance(asked, (ast.GeneratorExp, ast.ListComp)) else None


def _computes(draft: Draft, call: ast.Call) -> bool:
    """Whether a function makes a number of numbers: `max(a, b)`, not `max(losses[-3:])` or
    `losses.max()`, which is one by itself."""
    last = draft.names.last(call.func)
    return last in _PLAIN and (last not in ("min", "max") or len(call.args) > 1)


def _is_of_numbers(draft: Draft, e: ast.expr) -> bool:
    """`mean < best`, `mean == min(means)`"""
    if not isinstance(e, ast.Compare):
        return False
    sides = [n.func for n in (e.left, *e.comparators) if isinstance(n, ast.Call)]
    return all(isinstance(op, _ORDER) for op in e.ops) or any(draft.names.last(f) in BEST_OF for f in sides)


def _asks_for_none(test: ast.Compare) -> bool:
    return isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None


def is_item(e: ast.expr) -> bool:
    """`state["best"]`"""
    return (
        isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Constant) and isinstance(e.slice.value, str)
    )
