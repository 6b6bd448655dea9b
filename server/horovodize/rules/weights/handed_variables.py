"""The models whose variables a function is handed to train: `run(lambda: head.trainable_variables)`, and then
`run(lambda: model.trainable_variables)`, where it trains `variables()`. Part of G2.

What is frozen meanwhile, and statistics of batch norms, are none of these variables, but each step computes with them: so all
of each model's are sent, where it has a name everywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.draft import Draft

_DEPTH = 4
_COPYING = ("list", "tuple")


def models(draft: Draft, e: ast.expr, place: ast.AST) -> list[ast.Name]:
    """The models of whose variables an expression stands, each once, by names that mean the same at a place; nothing where one
    of them isn't seen, or the expression says itself whose they are."""
    found = _handed(draft, e)
    return found if all(_is_named_everywhere(draft, m, place) for m in found) else []


def without_name(draft: Draft, e: ast.expr, place: ast.AST) -> list[ast.Name]:
    """The same where one of them has no such name: what is sent of them are the variables that are handed over."""
    return [] if models(draft, e, place) else _handed(draft, e)


def _handed(draft: Draft, e: ast.expr) -> list[ast.Name]:
    if isinstance(e, ast.Attribute) and e.attr in OF_MODEL and not draft.values.attribute_bindings(e):
        return []
    return list({m.id: m for m in _models(draft, e, _DEPTH) or ()}.values())


def _models(draft: Draft, e: ast.AST, depth: int) -> list[ast.Name] | None:
    """The same, under whatever names; None where one isn't seen."""
    if not depth:
        return None
    match e:
        case ast.List(elts=[]):
            return []
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _of_all(draft, (left, right), depth)
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COPYING:
            return _models(draft, inner, depth - 1)
        case ast.Call():
            functions = [f for f in draft.values.graph.runs(e) if isinstance(f, CALLABLES)]
            return _of_all(draft, [r for f in functions for r in draft.values.returned(f)], depth)
        case ast.Name():
            return _of_all(draft, _given(draft, e), depth)
        case ast.Attribute(value=base, attr=attr):
            bound = draft.values.attribute_bindings(e)
            if bound:
                return _of_all(draft, [None if b.path else b.value for b in bound], depth)
            return _named(draft, base, depth) if attr in OF_MODEL else None
        case _:
            return None


def _of_all(draft: Draft, given: Iterable[ast.AST | None], depth: int) -> list[ast.Name] | None:
    parts = [_models(draft, e, depth - 1) if e is not None else None for e in given]
    found = [m for part in parts if part is not None for m in part]
    return found if parts and None not in parts else None


def _given(draft: Draft, name: ast.Name) -> list[ast.expr | None]:
    """All that a name is assigned, or passed for it."""
    found = list[ast.expr | None]()
    for b in draft.module.scopes.reaching(name):
        if b.kind == "parameter":
            found += draft.values.passed(b) or [None]
        else:
            found.append(b.value if b.kind == "assign" and not b.path else None)
    return found


def _named(draft: Draft, base: ast.expr, depth: int) -> list[ast.Name] | None:
    """The name that a model has where it is made, of a parameter, too."""
    bound = draft.module.scopes.reaching(base) if isinstance(base, ast.Name) else []
    if not isinstance(base, ast.Name) or not bound:
        return None
    if any(b.kind == "parameter" for b in bound):
        parts = [
            _named(draft, e, depth - 1) if e is not None and depth else None for e in _given(draft, base)
        ]
        return None if None in parts else [m for part in parts if part is not None for m in part]
    return [base]


def _is_named_everywhere(draft: Draft, model: ast.Name, place: ast.AST) -> bool:
    """Whether a name is one of the module, given to one model alone, and means that at a place."""
    scopes = draft.module.scopes
    scope = scopes.lookup(model.id, model)
    if scope is None or scope is not scopes.lookup(model.id, place) or draft.syntax.function(model) is scope:
        return False
    bound = scopes.names[scope].get(model.id, [])
    return len(bound) == 1 and bound[0].kind == "assign" and draft.syntax.function(bound[0].statement) is None


__all__ = ["models", "without_name"]
