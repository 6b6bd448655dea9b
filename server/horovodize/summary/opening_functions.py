"""Functions that open a file for their callers, in the mode that these say: each of their calls is an opening of its own.

def open_file(path, mode="r"):
    return open(path, mode, encoding="utf-8")
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.summary.module import Module
from horovodize.summary.syntax import FUNCTIONS, Function, argument


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
    told = {
        tuple(e.id if isinstance(e, ast.Name) else "" for e in opened[c])
        for c in gives
        if isinstance(c, ast.Call)
    }
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


__all__ = ["OpeningFunction", "opening_functions"]
