"""Tests of whether an object has a method or a field at all, `run = getattr(hook, name, None)` and `if run is not None: run()`:
they come out alike with each step."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

_ASKING = ("hasattr", "callable")


def asks_for_one(draft: Draft, test: ast.expr) -> bool:
    """Whether a test asks nothing else."""
    match test:
        case ast.Call(func=ast.Name(id=name) as asking) if name in _ASKING:
            return draft.module.scopes.is_builtin(asking)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return _is_looked_up(draft, left)
        case ast.Name() | ast.Call():
            return _is_looked_up(draft, test)
    return False


def _is_looked_up(draft: Draft, e: ast.expr) -> bool:
    """Whether something is the method that `getattr` finds, and nothing else."""
    found = [o.node for o in draft.values.origins(e)]
    return bool(found) and all(_finds_method(draft, n) for n in found)


def _finds_method(draft: Draft, n: ast.AST) -> bool:
    """Not a field, which steps may set: `getattr(self, "is_due", False)`."""
    match n:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return draft.values.definitions.has_method(name)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, *_]):
            return True
    return False


__all__ = ["asks_for_one"]
