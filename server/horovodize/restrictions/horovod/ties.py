"""Sorts that leave equal ones in the order in which they came: `sorted(words, key=counts.get)`."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context

COUNTER = "collections.Counter"
_ASKING = ("get", "__getitem__")


def has_ties(context: Context, call: ast.Call) -> bool:
    """Whether a sort goes by nothing but counts or lengths, of which several are surely the same."""
    key = next((k.value for k in call.keywords if k.arg == "key"), None)
    match key:
        case ast.Name():
            return context.is_builtin(key, "len")
        case ast.Attribute(value=table, attr=asked):
            return asked in _ASKING and _counts(context, table)
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=word)]), body=body):
            named = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id == word]
            return bool(named) and all(_is_counted(context, n) for n in named)
    return False


def _is_counted(context: Context, word: ast.Name) -> bool:
    """`counts[word]`, `counts.get(word, 0)`, `len(word)`"""
    match context.syntax.parent.get(word):
        case ast.Subscript(value=table, slice=asked):
            return asked is word and _counts(context, table)
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[asked, *_]):
            return asked is word and _counts(context, table)
        case ast.Call(func=func, args=[_]):
            return context.is_builtin(func, "len")
    return False


def _counts(context: Context, table: ast.expr) -> bool:
    made = [o.node for o in context.values.origins(table)]
    return bool(made) and all(isinstance(m, ast.Call) and context.names.of(m.func) == COUNTER for m in made)


__all__ = ["COUNTER", "has_ties"]
