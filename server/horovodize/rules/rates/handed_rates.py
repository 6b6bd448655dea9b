"""Rates that a function of the script is given, and sets: `set_rate(model, 0.001)`. Part of C5.

Multiplied in the function, they are so for all of its callers, also for one that gives the optimizer's own rate times a half,
which is multiplied already; then each caller's is."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.decisions import Scaled
from horovodize.rules.drafting.draft import Draft


def own_setters_first(draft: Draft, node: ast.AST) -> bool:
    """A key for sorting: calls of a function of the script that is called as Keras' is, `K.set_value`, come first."""
    is_so_called = isinstance(node, ast.Call) and draft.names.last(node.func) == "set_value"
    return not (is_so_called and isinstance(draft.values.callee(node), FUNCTIONS))  # type: ignore[arg-type]


def to_scale(
    draft: Draft, value: ast.expr, is_relative: Callable[[Draft, ast.expr], bool]
) -> list[ast.expr] | None:
    """What callers give that is to be multiplied there, where a rate is set to a parameter of its function; None where it is to
    be multiplied in the function, or nowhere.

    is_relative: whether a rate is made from an optimizer's own"""
    bindings = draft.values.bindings(value) if isinstance(value, ast.Name) else []
    if len(bindings) != 1 or bindings[0].kind != "parameter":
        return None
    given = draft.values.passed(bindings[0])
    new = [e for e in given if not is_relative(draft, e)]
    by_callers = len(new) < len(given) or any(draft.was(e, Scaled) for e in given)
    return new if by_callers and new else None
