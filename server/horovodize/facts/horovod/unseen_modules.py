"""Whether modules and packages that aren't seen are given anything that trains (`HorovodUse.shows_training`)."""

from __future__ import annotations

import ast
from collections.abc import Collection

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, arguments

_TRAINING = ("tensorflow", "keras", "tf_keras", "torch")
_HARMLESS = ("tensorflow.float", "tensorflow.int", "tensorflow.constant", "tensorflow.keras.datasets")
_LIMIT = 100


def are_given_nothing(module: Module, unseen: Collection[str]) -> bool:
    """Whether calls into packages of these names are given no model, optimizer, data set or function, and nothing is derived
    from their classes: they can't train, send or divide what they don't have."""
    if any(base.split(".")[0] in unseen for base, _ in module.scopes.star_imports):
        return False
    if any(_is_of(module, base, unseen) for c in module.syntax.classes for base in c.bases):
        return False
    if any(_is_of(module, d, unseen) for f in module.syntax.functions for d in _decorators(f)):
        return False
    return not any(
        _may_train(module, given)
        for call in module.syntax.calls
        if _is_into(module, call, unseen)
        for given in arguments(call)
    )


def _decorators(function: ast.AST) -> list[ast.expr]:
    return [d.func if isinstance(d, ast.Call) else d for d in getattr(function, "decorator_list", ())]


def _is_of(module: Module, e: ast.expr, unseen: Collection[str]) -> bool:
    return (module.names.of(e) or "").split(".")[0] in unseen


def _is_into(module: Module, call: ast.Call, unseen: Collection[str]) -> bool:
    """Whether a call is of something of these packages, or of a method of what they give."""
    if _is_of(module, call.func, unseen):
        return True
    asked = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return any(_is_of(module, made.func, unseen) for made in module.values.calls(asked))


def _may_train(module: Module, given: ast.expr) -> bool:
    """Whether something may be, or hold, what trains, or what it trains on."""
    behind = list(module.values.depends([given], _LIMIT))
    if len(behind) >= _LIMIT:
        return True
    for node in behind:
        if isinstance(node, CALLABLES):
            return True
        if isinstance(node, ast.Call):
            name = module.names.of(node.func) or ""
            if name.split(".")[0] in _TRAINING and not name.startswith(_HARMLESS):
                return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if any(b.kind in ("def", "class", "parameter") for b in module.scopes.reaching(node)):
                return True
    return False
