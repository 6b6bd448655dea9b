"""Settings that have grown with the number of ranks before a rate is made of them (a part of HVD309).

args.lr = args.lr * hvd.size()
optimizer = tf.keras.optimizers.SGD(args.lr * hvd.size())"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import is_main_guard, position
from horovodize.restrictions.context import Context

_Setting = ast.Attribute | ast.Subscript
_SETTING = ("setattr", "update", "setdefault", "__dict__", "replace")


def grown_before(context: Context, e: ast.expr) -> Iterator[ast.expr]:
    """What a setting is multiplied by, or made of, before it is read: `args.lr`, `config["rate"]`, `config.rate`."""
    if not isinstance(e, (ast.Attribute, ast.Subscript)):
        return
    if isinstance(e, ast.Subscript) and not isinstance(e.slice, ast.Constant):
        return
    changes = _changes(context, e)
    if not changes:
        yield from _given(context, e)
    elif len(changes) == 1 and _is_done_before(context, changes[0], e):
        yield from _factors(context, changes[0], e)


def _changes(context: Context, e: _Setting) -> list[ast.Assign | ast.AugAssign]:
    """The statements that set it, of the same object or of one that may be."""
    found = list[ast.Assign | ast.AugAssign]()
    for s in context.syntax.every(ast.Assign, ast.AugAssign):
        if isinstance(s, (ast.Assign, ast.AugAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            if any(_name(t) == _name(e) for t in targets if isinstance(t, (ast.Attribute, ast.Subscript))):
                found.append(s)
    return found


def _name(e: _Setting) -> object:
    """How a setting is called in what holds it."""
    if isinstance(e, ast.Attribute):
        return "." + e.attr
    return e.slice.value if isinstance(e.slice, ast.Constant) else None


def _factors(context: Context, change: ast.Assign | ast.AugAssign, e: _Setting) -> Iterator[ast.expr]:
    target = change.targets[0] if isinstance(change, ast.Assign) else change.target
    if not isinstance(target, (ast.Attribute, ast.Subscript)) or not _are_one(context, target.value, e.value):
        return
    if isinstance(change, ast.AugAssign):
        if isinstance(change.op, ast.Mult):
            yield change.value
    elif isinstance(change.value, ast.BinOp) and isinstance(change.value.op, ast.Mult):
        sides = (change.value.left, change.value.right)
        if any(context.text(side) == context.text(target) for side in sides):
            yield from (side for side in sides if context.text(side) != context.text(target))


def _are_one(context: Context, one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions surely stand for the same object."""
    origins = [{o.node for o in context.values.origins(x)} for x in (one, other)]
    return len(origins[0]) == 1 and origins[0] == origins[1]


def _is_done_before(context: Context, change: ast.stmt, e: ast.expr) -> bool:
    """Whether a script comes to a statement once, whatever happens, and before it comes to an expression."""
    syntax = context.syntax
    if syntax.loops(change) or not all(is_main_guard(test) for test, _ in syntax.conditions(change)):
        return False
    function, ways = syntax.function(change), context.ways(e)
    if len(context.ways(change)) != 1 or any(f.loops for f in context.ways(change)[0]):
        return False
    here = [next((f for f in way if syntax.function(f.node) is function), None) for way in ways]
    return bool(here) and all(
        f is not None and position(change) < position(syntax.statement(f.node)) for f in here
    )


def _given(context: Context, e: _Setting) -> Iterator[ast.expr]:
    """What a data class is made with for a field of its objects, which nothing sets later: `Config(rate=0.1 * hvd.size())`."""
    made = context.values.calls(e.value)
    if not isinstance(e, ast.Attribute) or len(made) != 1 or any(map(context.module.loads.get, _SETTING)):
        return
    owner = context.values.callee(made[0])
    if not isinstance(owner, ast.ClassDef) or not any(
        _is_dataclass(context, d) for d in owner.decorator_list
    ):
        return
    fields = [
        s.target.id for s in owner.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    yield from (k.value for k in made[0].keywords if k.arg == e.attr)
    if e.attr in fields and fields.index(e.attr) < len(made[0].args):
        yield made[0].args[fields.index(e.attr)]


def _is_dataclass(context: Context, decorator: ast.expr) -> bool:
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (context.names.of(made) or "") == "dataclasses.dataclass"


__all__ = ["grown_before"]
