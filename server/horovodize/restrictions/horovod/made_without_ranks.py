"""Which numbers are surely made without the number of ranks (HVD321, HVD325)."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context

_BUILTINS = (
    "int",
    "len",
    "round",
    "max",
    "min",
    "sum",
    "float",
    "abs",
    "sorted",
    "open",
    "list",
    "set",
    "str",
    "enumerate",
    "zip",
)
_LIBRARIES = (
    "numpy.",
    "argparse.",
    "tensorflow.",
    "absl.",
    "os.",
    "math.",
    "json.",
    "pandas.",
    "glob.",
    "h5py.",
    "sklearn.",
    "pathlib.",
)
_LIMIT = 200


def is_of_one(context: Context, number: ast.expr) -> bool:
    """Whether a number is surely made without the number of ranks: of constants, what the script was started with, what it
    reads, and what they are computed to."""
    nodes = list(context.values.depends([number], _LIMIT))
    if len(nodes) >= _LIMIT or context.facts.horovod.depends_on(number, "size", "local_size"):
        return False
    return all(not isinstance(n, ast.Call) or _is_seen(context, n) for n in nodes) and all(
        b.kind != "parameter" or context.values.passed(b) or context.holds_seen_attribute(n)
        for n in nodes
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        for b in context.scopes.reaching(n)
    )


def _is_seen(context: Context, call: ast.Call) -> bool:
    """Whether nothing unseen computes what a call gives: it is of Python, of the script, or of a library without ranks."""
    if context.is_builtin(call.func, *_BUILTINS) or context.values.callee(call) is not None:
        return True
    func = call.func
    while isinstance(func, ast.Attribute):  # a method is as seen as what it is called on
        if isinstance(func.value, ast.Call) or context.names.of(func) is not None:
            break
        func = func.value
    name = context.names.of(func) or ""
    if name:
        return name.startswith(_LIBRARIES) and not name.startswith("os.env")
    return isinstance(call.func, ast.Attribute) and (
        isinstance(func, ast.Attribute) or _is_local(context, func)
    )


def _is_local(context: Context, e: ast.expr) -> bool:
    """Whether a name stands for what the script has made, so that where that comes from is asked for, too."""
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return bool(bound) and all(b.kind != "import" for b in bound)


def is_divided_only(context: Context, number: ast.expr) -> bool:
    """Whether the number of ranks is in a number, and only as what others are divided by."""
    calls = [n for n in context.values.depends([number], _LIMIT) if context.facts.horovod.is_call(n, "size")]
    around = [context.syntax.parent.get(c) for c in calls]
    return bool(calls) and all(
        isinstance(a, ast.BinOp) and isinstance(a.op, (ast.Div, ast.FloorDiv)) and a.right is c
        for a, c in zip(around, calls, strict=True)
    )
