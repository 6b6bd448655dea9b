"""Functions that open a file for their callers, in the mode that these say: each of their calls is an opening of its own.

    def open_file(path, mode="r"):
        return open(path, mode, encoding="utf-8")

Not where the function goes anywhere but into calls that are seen: who else calls it might write."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function, argument, has_unpacking


@dataclass(frozen=True, eq=False)
class OpeningFunction:
    """path, mode: the parameters, each with its place among the arguments of a call; default: the mode where none is given"""

    function: Function
    path: tuple[str, int]
    mode: tuple[str, int]
    default: ast.expr | None

    def calls(self, module: Module) -> list[ast.Call]:
        """The calls of the function, and of no other."""
        return [c for c in module.values.callers(self.function) if module.values.callee(c) is self.function]

    def mode_given(self, call: ast.Call) -> ast.expr | None:
        """The mode in which a call opens a file; None where it isn't seen."""
        told = argument(call, *self.mode)
        return told if told is not None else self.default


def opening_functions(
    module: Module, opened: dict[ast.Call, tuple[ast.expr | None, ast.expr | None]]
) -> Iterator[OpeningFunction]:
    """The functions of a module that do nothing but give back what they open. opened: the calls that open a file, each with the
    path and the mode that it is given"""
    functions = {
        module.syntax.function(c) for c, (path, mode) in opened.items() if isinstance(mode, ast.Name)
    }
    for function in functions:
        if isinstance(function, FUNCTIONS):
            found = _read(module, function, opened)
            if found is not None:
                yield found


def _read(
    module: Module, function: Function, opened: dict[ast.Call, tuple[ast.expr | None, ast.expr | None]]
) -> OpeningFunction | None:
    gives = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(function))
    if not gives or yields or not all(isinstance(e, ast.Call) and e in opened for e in gives):
        return None
    if any(c not in gives for c in opened if module.syntax.function(c) is function):
        return None
    if not _is_only_called(module, function):
        return None
    told = {tuple(_parameter(module, e) for e in opened[c]) for c in gives if isinstance(c, ast.Call)}
    named = [*function.args.posonlyargs, *function.args.args]
    names = [a.arg for a in named]
    if len(told) != 1:
        return None
    path, mode = told.pop()
    if path not in names or mode not in names:
        return None
    is_method = names[0] in ("self", "cls") and module.syntax.method_class(function) is not None
    at = {name: i - is_method for i, name in enumerate(names)}
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    return OpeningFunction(function, (path, at[path]), (mode, at[mode]), defaults.get(mode))


def _parameter(module: Module, e: ast.expr | None) -> str:
    """The parameter that an expression is; "" for anything else."""
    bound = module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return bound[0].name if [b.kind for b in bound] == ["parameter"] else ""


def _is_only_called(module: Module, function: Function) -> bool:
    """Whether all that a file does with a function, by its name, is to call it, with arguments that are seen."""
    calls = module.values.callers(function)
    called = {c.func for c in calls}
    others = (n for n in module.loads.get(function.name) if n not in called)
    return not any(map(has_unpacking, calls)) and all(_is_another(module, n) for n in others)


def _is_another(module: Module, read: ast.expr) -> bool:
    """Whether what bears a function's name is surely a library's, or Python's own: `gzip.open`, `open`."""
    builtin = isinstance(read, ast.Name) and module.scopes.is_builtin(read)
    return builtin or module.names.of(read) is not None


__all__ = ["OpeningFunction", "opening_functions"]
