"""Windows that are made whole again, one element of each: `ds.window(n + 1, shift=1, drop_remainder=True)` and then
`ds.flat_map(lambda w: w.batch(n + 1))`. Ranks that divide the windows get as many elements as if they divided what is made of
them, and none makes the others'."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument


def gives_one_of_each(module: Module, call: ast.Call) -> bool:
    """Whether a `flat_map` gives one element for each it gets: all of a full window."""
    assert isinstance(call.func, ast.Attribute)
    mapped = argument(call, "map_func", 0)
    windows = [o.node for o in module.values.origins(call.func.value)]
    functions = [o.node for o in module.values.origins(mapped)] if mapped is not None else []
    sizes = [_full(w) for w in windows]
    return bool(windows and functions) and all(
        size is not None and isinstance(f, CALLABLES) and _makes_whole(module, f, size)
        for size in sizes
        for f in functions
    )


def _full(made: ast.AST) -> ast.expr | None:
    """The size of windows of which none has fewer elements; None of others."""
    if (
        not isinstance(made, ast.Call)
        or not isinstance(made.func, ast.Attribute)
        or made.func.attr != "window"
    ):
        return None
    full = argument(made, "drop_remainder", 3)
    is_full = isinstance(full, ast.Constant) and full.value is True
    return argument(made, "size", 0) if is_full else None


def _makes_whole(module: Module, function: ast.AST, size: ast.expr) -> bool:
    """Whether a function gives one batch of a window, or batches of its parts put side by side."""
    returned = module.values.returned(function)
    if len(returned) != 1:
        return False
    given = returned[0]
    if isinstance(given, ast.Call) and module.names.last(given.func) == "zip" and len(given.args) == 1:
        parts = given.args[0].elts if isinstance(given.args[0], (ast.Tuple, ast.List)) else []
        return bool(parts) and all(_is_batch(module, part, size) for part in parts)
    return _is_batch(module, given, size)


def _is_batch(module: Module, e: ast.expr, size: ast.expr) -> bool:
    """`w.batch(n)` of a function's own parameter, with a size that is written as that of the windows, and means the same."""
    if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute) or e.func.attr != "batch":
        return False
    window, count = e.func.value, argument(e, "batch_size", 0)
    bound = module.scopes.reaching(window) if isinstance(window, ast.Name) else []
    if count is None or not bound or any(b.kind != "parameter" for b in bound):
        return False
    names = [n for n in ast.walk(size) if isinstance(n, ast.Name)]
    return ast.dump(count) == ast.dump(size) and all(
        module.scopes.lookup(n.id, n) is module.scopes.lookup(n.id, e) for n in names
    )


__all__ = ["gives_one_of_each"]
