"""Variables as they are written, where a comprehension's own are told from others of their name.

In `for i in range(n): rows = [x[i] for i in chosen]` the loop's variable selects nothing: the `i` of `x[i]` is another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from horovodize.python.scopes import Scopes
from horovodize.python.syntax import COMPREHENSIONS
from horovodize.source.nodes import walk

# What has variables of its own among the statements of a loop.
_OWN = (*COMPREHENSIONS, ast.Lambda)
# Calls that make a number (or numbers) of others.
NUMBERS = {"min", "max", "int", "range", "xrange", "arange", "slice", "minimum", "mod"}


class Variables:
    """The variables of one module; by their names alone where its scopes aren't known."""

    def __init__(self, scopes: Scopes | None) -> None:
        self.scopes = scopes

    def of(self, n: ast.Name) -> str:
        """What stands for a variable: its name, and where it is a comprehension's own, also where that is."""
        scope = self.scopes.lookup(n.id, n) if self.scopes is not None else None
        if not isinstance(scope, _OWN):
            return n.id
        return f"{n.id} {scope.lineno} {scope.col_offset}"

    def read(self, e: ast.AST) -> set[str]:
        """The variables in an expression."""
        return {self.of(n) for n in walk(e) if isinstance(n, ast.Name)}

    def set_in(self, target: ast.AST) -> set[str]:
        """The variables that an assignment to a target sets: `self.best` of `self.best = …`, not `self`; `x` of `x[i] = …`."""
        if isinstance(target, ast.Attribute):
            return {ast.unparse(target)}
        if isinstance(target, (ast.Subscript, ast.Starred)):
            return self.set_in(target.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            return set[str]().union(*map(self.set_in, target.elts))
        return self.read(target)

    def mentions(self, e: ast.AST, variables: set[str]) -> bool:
        """Whether some of the variables, or of the attributes and items as they are written, are in an expression."""
        names = {v.partition(" ")[0] for v in variables}
        found = (n for n in walk(e) if isinstance(n, ast.Name) and n.id in names)
        if any(self.of(n) in variables for n in found):
            return True
        held = {v for v in variables if "." in v or "[" in v}
        return bool(held) and any(
            (isinstance(n, ast.Attribute) or is_item(n)) and ast.unparse(n) in held for n in walk(e)
        )

    def numbered(self, n: ast.AST) -> Iterator[tuple[ast.expr, set[str]]]:
        """(numbers that are gone through, the variables that are set to them) of `for j in range(i, i + n)`, also in
        comprehensions."""
        if isinstance(n, (ast.For, ast.AsyncFor)) and is_number(n.iter):
            yield n.iter, self.read(n.target)
        elif isinstance(n, COMPREHENSIONS):
            yield from ((g.iter, self.read(g.target)) for g in n.generators if is_number(g.iter))


def is_item(e: ast.AST) -> TypeGuard[ast.Subscript]:
    """`state["step"]`, `count[0]`: what a dictionary or list holds by a key that is written out."""
    match e:
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Constant(value=str() | int())):
            return True
    return False


def is_number(e: ast.expr) -> bool:
    """Whether a call makes a number (or numbers) of others."""
    if not isinstance(e, ast.Call):
        return False
    called = e.func.attr if isinstance(e.func, ast.Attribute) else getattr(e.func, "id", "")
    return called in NUMBERS


def bound_names(target: ast.expr) -> set[str]:
    """The names that an assignment binds; what is stored in something else (`history[i] = …`) has none."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return {name for e in target.elts for name in bound_names(e)}
    return {target.id} if isinstance(target, ast.Name) else set()
