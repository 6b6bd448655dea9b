"""Tests that pick some of a model's layers or weights, the same ones with each step: `isinstance(layer, Dense)`,
`"kernel" in v.name`, `len(w.shape) > 1`. What is done to those is done with each step."""

from __future__ import annotations

import ast

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.binding import Binding
from horovodize.rules.drafting.draft import Draft

_ASKING = ("isinstance", "hasattr", "getattr", "len", "type", "startswith", "endswith", "lower")
_HOLDING = (*OF_MODEL, "layers", "get_weights")


def picks(draft: Draft, test: ast.expr) -> bool:
    """Whether a test asks what a layer or a weight is, and nothing that changes with the steps."""
    names = [n for n in ast.walk(test) if isinstance(n, ast.Name)]
    asked = [n for n in names if _is_one_of_a_model(draft, n)]
    calls = (n for n in ast.walk(test) if isinstance(n, ast.Call))
    return (
        bool(asked)
        and all(draft.names.last(c.func) in _ASKING for c in calls)
        and all(n in asked or n.id in _ASKING or _stays(draft, n) for n in names)
    )


def _is_one_of_a_model(draft: Draft, n: ast.Name) -> bool:
    """`layer` of `for layer in model.layers:`"""
    bound = draft.module.scopes.reaching(n)
    return bool(bound) and all(_goes_through_a_model(b) for b in bound)


def _goes_through_a_model(b: Binding) -> bool:
    parts = ast.walk(b.value) if b.kind == "item" and b.value is not None else ()
    return any(isinstance(n, ast.Attribute) and n.attr in _HOLDING for n in parts)


def _stays(draft: Draft, n: ast.Name) -> bool:
    """Whether a name is a class, what is imported, or a setting."""
    bound = draft.module.scopes.reaching(n)
    return draft.names.of(n) is not None or (
        len(bound) == 1
        and bound[0].kind in ("class", "assign")
        and not draft.syntax.loops(bound[0].statement)
    )
