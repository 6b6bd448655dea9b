"""Which rows come in an order that each rank draws for itself (HVD319)."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context
from horovodize.summary.syntax import position

_IN_PLACE = ("random.shuffle", "numpy.random.shuffle")
_ORDERS = ("numpy.random.permutation", "random.sample", "sklearn.utils.shuffle")
_KEEPING = ("to_numpy", "reset_index", "tolist", "astype", "copy", "fillna", "dropna")  # the order
_SEEDS = ("set_seed", "set_random_seed", "set_global_seed", "set_global_seeds")
_DEPTH = 30


def drawn_order(context: Context, rows: ast.expr, depth: int = 0) -> ast.AST | None:
    """What puts rows into an order that each rank draws for itself: on their only way, or in their own place."""
    rows = _in_the_same_order(context, rows)
    if isinstance(rows, ast.Call) and context.is_builtin(rows.func, "set", "sorted"):
        while (
            isinstance(rows, ast.Call)
            and context.is_builtin(rows.func, "set", "sorted")
            and len(rows.args) == 1
        ):
            rows = rows.args[0]
        parts = [o.node for o in context.values.origins(rows)]  # each rank has split off others, in any order
        calls = (c for c in parts if isinstance(c, ast.Call))
        return next((c for c in calls if _splits(context, c) and _is_drawn(context, c)), None)
    origins = context.values.origins(rows)
    for origin in origins:
        made = origin.node
        chosen = made.slice if isinstance(made, ast.Subscript) else made
        if not isinstance(chosen, ast.expr) or isinstance(chosen, (ast.Slice, ast.Constant)):
            continue
        for draw in context.values.calls(chosen) or ([chosen] if isinstance(chosen, ast.Call) else []):
            if _draws_an_order(context, draw) and _is_drawn(context, draw):
                return draw
    if len(origins) == 1 and not origins[0].path and origins[0].node is not rows and depth < _DEPTH:
        made = origins[0].node  # also what a function gives: `return rows[:count].astype("float32")`
        if isinstance(made, ast.expr) and _in_the_same_order(context, made) is not made:
            return drawn_order(context, made, depth + 1)
    if not isinstance(rows, ast.Name):
        return None
    for call in context.module.calls_of(*_IN_PLACE):
        given = call.args[0] if len(call.args) == 1 else None
        in_order = given is not None and position(call) < position(rows)
        if in_order and context.text(given or rows) == rows.id and _is_drawn(context, call):
            if context.syntax.function(call) is context.syntax.function(rows):
                return call
    return None


def _in_the_same_order(context: Context, rows: ast.expr) -> ast.expr:
    """What rows are taken from, one after the other: `rows` of `rows[:n]`, `list(rows)`, `rows.iloc`, `rows.to_numpy()`."""
    while True:
        match rows:
            case ast.Subscript(slice=ast.Slice()):
                rows = rows.value
            case ast.Attribute(attr="iloc" | "values"):
                rows = rows.value
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if (
                method in _KEEPING and context.names.of(rows.func) is None
            ):
                rows = inner
            case ast.Call(func=ast.Attribute(attr="fit_transform" | "transform"), args=[inner]) if (
                context.values.callee(rows) is None
            ):  # scikit-learn's scalers
                rows = inner
            case ast.Call(args=[inner]) if context.is_builtin(rows.func, "list", "tuple"):
                rows = inner
            case ast.Call(args=[inner]) if context.names.of(rows.func) in ("numpy.array", "numpy.asarray"):
                rows = inner
            case _:
                return rows


def _draws_an_order(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "sample" and _is_given(call, "frac"):
        return context.values.callee(call) is None  # rows of a table of pandas
    return name in _ORDERS or _splits(context, call)


def _splits(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func)
    return name == "sklearn.model_selection.train_test_split" and not _is_given(call, "shuffle")


def _is_given(call: ast.Call, word: str) -> bool:
    return any(k.arg == word for k in call.keywords)


def _is_drawn(context: Context, call: ast.Call) -> bool:
    """Whether no seed makes it the same on every rank."""
    if _is_given(call, "random_state"):
        return False
    name = context.names.of(call.func) or ""
    of_random = name.startswith("random.")
    seeds = ("random.seed",) if of_random else ("numpy.random.seed",)
    return not any(context.module.loads.get(n) for n in _SEEDS) and not context.module.calls_of(*seeds)
