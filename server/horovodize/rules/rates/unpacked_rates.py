"""Rates in a dictionary that optimizers are given whole: `Adam(**settings)`. Part of C5.

They are scaled where the dictionary is written, which is for optimizers alone."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

_RATES = ("learning_rate", "lr")


def of(draft: Draft, optimizer: ast.Call) -> list[ast.expr]:
    """The rate that an optimizer is given so; nothing where that isn't seen, or where the dictionary serves something else."""
    unpacked = [k.value for k in optimizer.keywords if k.arg is None]
    (given,) = unpacked if len(unpacked) == 1 else (None,)
    bound = draft.module.scopes.reaching(given) if isinstance(given, ast.Name) else []
    if given is not None and not isinstance(given, ast.Name):
        values = [given]
    elif len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path and bound[0].value is not None:
        values = [bound[0].value]
    else:
        return []
    if bound and not all(_is_for_optimizer(draft, n) for n in draft.module.loads.get(bound[0].name)):
        return []
    return [rate for value in values for rate in _rates(draft, value)]


def _rates(draft: Draft, table: ast.expr) -> list[ast.expr]:
    match table:
        case ast.Dict(keys=keys, values=values):
            return [
                v
                for k, v in zip(keys, values, strict=True)
                if isinstance(k, ast.Constant) and k.value in _RATES
            ]
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return [k.value for k in table.keywords if k.arg in _RATES]
    return []


def _is_for_optimizer(draft: Draft, read: ast.AST) -> bool:
    keyword = draft.syntax.parent[read]
    made = draft.syntax.parent[keyword] if isinstance(keyword, ast.keyword) and keyword.arg is None else None
    return isinstance(made, ast.Call) and draft.module.is_optimizer(made)


__all__ = ["of"]
