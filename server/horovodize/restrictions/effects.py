"""What an expression does besides giving a value: what must happen on every rank, or on none alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.summary.syntax import CALLABLES, FUNCTIONS

_CHANGES = {
    "pop", "popitem", "popleft", "append", "appendleft", "extend", "insert", "remove", "clear", "setdefault", "update",
    "sort", "reverse", "add", "discard", "send", "__next__", "get_next",
}  # fmt: skip
_STATE = {
    "assign", "assign_add", "assign_sub", "update_state", "reset_states", "reset_state", "set_weights", "load_weights",
    "restore", "train_on_batch", "train_step", "fit", "fit_generator", "apply_gradients", "minimize",
}  # fmt: skip
_RANDOM = ("random.", "numpy.random.")
_PURE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytes chr complex dict dir divmod enumerate filter float format frozenset getattr hasattr hash "
    "hex id int isinstance issubclass iter len list map max min oct ord pow range repr reversed round set slice sorted str "
    "sum tuple type vars zip".split()
)
_DEPTH = 4


def effect(context: Context, call: ast.Call, depth: int = 0) -> str | None:
    """What a call does besides giving a value, for a message; None where nothing is known that it does."""
    function = call.func
    if context.is_builtin(function, "next"):
        return "takes an item from an iterator"
    if context.is_builtin(function, "input"):
        return "reads input"
    name = context.names.of(function) or ""
    if name.startswith(_RANDOM) and not name.endswith(
        ("RandomState", "default_rng", "Random", "getstate", "get_state")
    ):
        return "draws a random number"
    callee = context.values.callee(call)
    if call in context.training_sites or callee in context.training_functions:
        return "trains"
    if isinstance(callee, FUNCTIONS):
        return _effect_of_body(context, callee, depth)
    if isinstance(function, ast.Attribute) and not name and callee is None:
        if function.attr in _STATE:
            return "changes the state of training"
        if function.attr in _CHANGES and not _is_fresh(function.value):
            return f"changes `{context.text(function.value)}`"
        if function.attr == "evaluate":
            return "has to run on every rank"
    return None


def unknown(context: Context, call: ast.Call) -> bool:
    """Whether nothing can be said about what a call does: it is another module's."""
    if isinstance(call.func, ast.Name) and call.func.id in _PURE_BUILTINS:
        return False
    if context.values.callee(call) is not None:
        return False
    name = context.names.of(call.func) or ""
    return not name.startswith(("tensorflow.", "numpy.", "math.", "time.", "os.path."))


def _effect_of_body(
    context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int
) -> str | None:
    """The effects of a function of this module that outlive its call."""
    outer = {
        name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names
    }
    for node in _own_nodes(function):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id in outer:
                    return f"sets `{target.id}`"
                if isinstance(target, (ast.Attribute, ast.Subscript)) and _outlives(
                    context, target, function
                ):
                    return f"sets `{context.text(target)}`"
        elif isinstance(node, ast.Call):
            changes = isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES
            if changes and not _outlives(context, node.func, function):
                continue
            found = effect(context, node, depth + 1) if depth < _DEPTH else None
            if found is not None:
                return found
    return None


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions defined in it."""
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, (*CALLABLES, ast.ClassDef)):
            todo = [*ast.iter_child_nodes(node), *todo]


def _outlives(context: Context, target: ast.expr, function: ast.AST) -> bool:
    """Whether what an attribute or item is set on exists outside the function: a parameter, `self`, a global."""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    if not isinstance(target, ast.Name):
        return False
    if context.scopes.lookup(target.id, target) is not function:
        return context.scopes.lookup(target.id, target) is not None
    return any(b.kind == "parameter" for b in context.scopes.reaching(target))


def _is_fresh(expression: ast.expr) -> bool:
    """Whether something was made just for this expression, so that changing it changes nothing else."""
    return isinstance(expression, (ast.Call, ast.List, ast.Dict, ast.Set, ast.Constant, ast.ListComp))
