"""What a loop over something that is written out gives under one of its names.

for name, tape in (("generator", one), ("critic", other)):
    tape.gradient(losses[name], nets[name].trainable_variables)"""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context

_SEVERAL = (ast.List, ast.Tuple)


def given_by_loop(context: Context, name: ast.expr) -> list[ast.expr]:
    """What a name stands for in one turn after the other; none where that isn't seen whole."""
    bound = context.scopes.reaching(name) if isinstance(name, ast.Name) else []
    if len(bound) != 1 or bound[0].kind != "item" or bound[0].value is None:
        return []
    listed = _written(context, bound[0].value)
    path = bound[0].path
    if isinstance(listed, ast.Call) and context.is_builtin(listed.func, "zip") and len(path) == 1:
        at = path[0]
        columns = listed.args if not listed.keywords else []
        if not isinstance(at, int) or not 0 <= at < len(columns):
            return []
        listed, path = _written(context, columns[at]), ()
    if not isinstance(listed, _SEVERAL):
        return []
    found = [_part(e, path) for e in listed.elts]
    return [] if None in found else [e for e in found if e is not None]


def is_written_key(context: Context, name: ast.Name) -> bool:
    """Whether a name is each key in turn of a dictionary that is written out: `for name, net in nets.items():`."""
    bound = context.scopes.reaching(name)
    if len(bound) != 1 or bound[0].kind != "item":
        return False
    match bound[0].value, bound[0].path:
        case (ast.Call(func=ast.Attribute(value=table, attr="items"), args=[]), (0,)):
            pass
        case (ast.Call(func=ast.Attribute(value=table, attr="keys"), args=[]), ()):
            pass
        case (ast.Name() | ast.Attribute() as table, ()):
            pass
        case _:
            return False
    made = [o.node for o in context.values.origins(table) if not o.path]
    return bool(made) and all(isinstance(d, ast.Dict) and _has_constant_keys(d) for d in made)


def _has_constant_keys(table: ast.Dict) -> bool:
    return all(isinstance(key, ast.Constant) for key in table.keys)


def _written(context: Context, e: ast.expr) -> ast.expr:
    """The list itself, of a name that is bound to one and that nothing is put into."""
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    made = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path else None
    grows = isinstance(e, ast.Name) and isinstance(made, ast.List) and context.sites.flow.appended(e)
    return e if made is None or grows else made


def _part(e: ast.expr, path: tuple[int | str, ...]) -> ast.expr | None:
    for at in path:
        if not isinstance(e, _SEVERAL) or not isinstance(at, int) or not 0 <= at < len(e.elts):
            return None
        e = e.elts[at]
    return None if isinstance(e, ast.Starred) else e


__all__ = ["given_by_loop", "is_written_key"]
