"""Whether a variable has a gradient at all, `gradient is not None`: the network decides that, the same on all ranks."""

from __future__ import annotations

import ast

from horovodize.interleaving.asked import is_none
from horovodize.python.module import Module

_GRADIENTS = ("gradient", "gradients", "compute_gradients", "get_gradients")
_BEHIND = 80  # nodes


def asks_for_gradient(module: Module, test: ast.expr) -> bool:
    """Whether a test asks nothing but that: of one of the gradients that a tape or an optimizer gives."""
    match test:
        case ast.Compare(left=asked, ops=[ast.Is() | ast.IsNot()], comparators=[nothing]) if is_none(nothing):
            return isinstance(asked, ast.Name) and any(
                module.names.last(n.func if isinstance(n, ast.Call) else n) in _GRADIENTS
                for n in module.values.depends([asked], _BEHIND)
                if isinstance(n, (ast.Call, ast.Attribute))  # `accumulator.gradients`
            )
    return False


__all__ = ["asks_for_gradient"]
