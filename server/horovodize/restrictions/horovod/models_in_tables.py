"""Models that a script keeps in a dictionary: `nets = {"actor": make(), "critic": make()}` (a part of HVD306)."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.written_out import given_by_loop

_DEPTH = 3  # of functions that a dictionary is passed on by


def of_table(context: Context, model: ast.expr) -> list[ast.Call]:
    """The calls that make the models which an expression gives out of a dictionary that is written out: `nets["actor"]` one,
    `nets[key]`, or what `for net in nets.values():` goes through, each of them. None where something else is put into it."""
    match model:
        case ast.Subscript(value=(ast.Name() | ast.Attribute()) as table, slice=key):
            items = _items(context, table)
            keys = [key] if isinstance(key, ast.Constant) else given_by_loop(context, key)
            names = [k.value for k in keys if isinstance(k, ast.Constant)]
            if keys and len(names) == len(keys):
                return [call for name, call in items if name in names]
            return [call for _, call in items]
        case ast.Name():
            table_ = _gone_through(context, model)
            return [call for _, call in _items(context, table_)] if table_ is not None else []
    return []


def is_each_of(context: Context, model: ast.expr) -> bool:
    """Whether an expression is each of such models in turn: `for key in nets:` … `nets[key]`, `for net in nets.values():`."""
    match model:
        case ast.Subscript(value=table, slice=ast.Name() as key):
            if keys := given_by_loop(context, key):
                return all(isinstance(k, ast.Constant) for k in keys) and bool(of_table(context, model))
            bound = context.scopes.reaching(key)
            if len(bound) != 1 or bound[0].kind != "item" or not of_table(context, model):
                return False
            match bound[0].value, bound[0].path:
                case (ast.Call(func=ast.Attribute(value=gone, attr="keys"), args=[]), ()):
                    return context.text(gone) == context.text(table)
                case (ast.Call(func=ast.Attribute(value=gone, attr="items"), args=[]), (0,)):
                    return context.text(gone) == context.text(table)
                case (ast.Name() | ast.Attribute() as gone, ()):
                    return context.text(gone) == context.text(table)
        case ast.Name():
            return bool(of_table(context, model))
    return False


def _gone_through(context: Context, name: ast.Name) -> ast.Name | ast.Attribute | None:
    """The dictionary whose values a loop goes through by a name: `for key, net in nets.items():`."""
    bound = context.scopes.reaching(name)
    if len(bound) != 1 or bound[0].kind != "item":
        return None
    match bound[0].value, bound[0].path:
        case (
            ast.Call(
                func=ast.Attribute(value=(ast.Name() | ast.Attribute()) as table, attr="values"), args=[]
            ),
            (),
        ) | (
            ast.Call(
                func=ast.Attribute(value=(ast.Name() | ast.Attribute()) as table, attr="items"), args=[]
            ),
            (1,),
        ):
            return table
    return None


def _items(
    context: Context, table: ast.Name | ast.Attribute, depth: int = _DEPTH
) -> list[tuple[object, ast.Call]]:
    """The keys of a dictionary with what makes the value of each; also of one that calls pass for a parameter."""
    bound = (
        context.scopes.reaching(table)
        if isinstance(table, ast.Name)
        else context.values.attribute_bindings(table)
    )
    if depth and len(bound) == 1 and bound[0].kind == "parameter" and not _is_filled(context, table):
        passed = context.values.passed(bound[0])
        kept = [_items(context, e, depth - 1) for e in passed if isinstance(e, (ast.Name, ast.Attribute))]
        return kept[0] if len(kept) == len(passed) == 1 else []
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
        return []
    made = bound[0].value
    if not isinstance(made, ast.Dict) or _is_filled(context, table):
        return []
    items: list[tuple[object, ast.Call]] = [
        (key.value, call)
        for key, value in zip(made.keys, made.values, strict=True)
        if isinstance(key, ast.Constant) and (call := _maker(context, value)) is not None
    ]
    return items if len(items) == len(made.values) else []


def _maker(context: Context, value: ast.expr) -> ast.Call | None:
    """The call that makes a value, also of a name that is bound to nothing else."""
    bound = context.scopes.reaching(value) if isinstance(value, ast.Name) else []
    if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path and bound[0].value is not None:
        value = bound[0].value
    return value if isinstance(value, ast.Call) else None


def _is_filled(context: Context, table: ast.Name | ast.Attribute) -> bool:
    """Whether anything else is put into a dictionary of this name."""
    text = context.text(table)
    return any(
        isinstance(n.ctx, ast.Store) and context.text(n.value) == text
        for n in context.syntax.every(ast.Subscript)
    )


def made_for_each(context: Context, item: ast.expr) -> list[ast.Call]:
    """What makes each value of a dictionary or list that a comprehension makes: `{k: Adam(0.001) for k in keys}["actor"]`."""
    if not isinstance(item, ast.Subscript) or not isinstance(item.value, ast.Name):
        return []
    bound = context.scopes.reaching(item.value)
    if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or _is_filled(context, item.value):
        return []
    match bound[0].value:
        case ast.DictComp(value=value) | ast.ListComp(elt=value):
            return context.values.calls(value)
    return []
