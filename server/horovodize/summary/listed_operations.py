"""Operations that are put into a list or a dict one by one, and taken from it in the turns of a loop:

train_ops.append(optimizer.minimize(loss))
for op, loss in zip(train_ops, losses):
    session.run(op)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.module import Module
from horovodize.python.values import ITEM, Origin


def put(module: Module, e: ast.expr, origin: Origin) -> Iterator[ast.expr]:
    """What may be an expression whose value is an item of a list or a dict (`origin`), of what is put there later."""
    if origin.path[:1] != (ITEM,):
        if isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Constant):
            for o in module.values.origins(e.value):  # `layer["op"]` of the dicts in a list
                for value in _items(module, o):
                    yield from _at(value, e.slice.value)
        return
    yield from _items(module, origin)


def _items(module: Module, origin: Origin) -> Iterator[ast.expr]:
    """The items of a list or a dict that are put into it: of tuples the part that is meant."""
    if origin.path[:1] != (ITEM,):
        return
    node, path = origin.node, origin.path[1:]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "items" and path[:1] == (1,):
            yield from _set(module, node.func.value, path[1:])
        elif node.func.attr == "values":
            yield from _set(module, node.func.value, path)
    elif isinstance(node, (ast.List, ast.Call)):
        for call in module.calls_called("append", "insert"):
            if isinstance(call.func, ast.Attribute) and call.args:
                if any(o.node is node and not o.path for o in module.values.origins(call.func.value)):
                    yield from _part(call.args[-1], path)


def _set(module: Module, table: ast.expr, path: tuple[int, ...]) -> Iterator[ast.expr]:
    """What is kept in a dict, `ops[name] = optimizer.minimize(loss)`."""
    made = {o.node for o in module.values.origins(table) if not o.path}
    for assign in module.syntax.every(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript):
                if made & {o.node for o in module.values.origins(target.value) if not o.path}:
                    yield from _part(assign.value, path)


def _part(value: ast.expr, path: tuple[int, ...]) -> Iterator[ast.expr]:
    """`op` of `(op, loss)` at (0,); all of it where that can't be told."""
    if path and isinstance(value, (ast.Tuple, ast.List)) and 0 <= path[0] < len(value.elts):
        yield from _part(value.elts[path[0]], path[1:])
    elif not path:
        yield value


def _at(value: ast.expr, key: object) -> Iterator[ast.expr]:
    if isinstance(value, ast.Dict):
        for k, v in zip(value.keys, value.values, strict=True):
            if isinstance(k, ast.Constant) and k.value == key:
                yield v
    elif isinstance(value, (ast.Tuple, ast.List)) and isinstance(key, int) and 0 <= key < len(value.elts):
        yield value.elts[key]


__all__ = ["put"]
