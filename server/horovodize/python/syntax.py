"""The shape of a module: what stands inside what."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar, overload

from horovodize.source.nodes import walk
from horovodize.source.outline import Outline

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)
L = TypeVar("L", bound=ast.AST)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CALLABLES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Syntax:
    """What stands inside what, and the lists that everything else starts from.

    tree   the module; of a project, the script that is run
    trees  the modules of a project, those that are imported first; of a module by itself, just that"""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.tree = outline.trees[-1]
        self.trees = outline.trees
        self.parent, self.field = outline.parent, outline.field
        self._every: dict[tuple[type[ast.AST], ...], list[ast.AST]] = {}

    def forget(self) -> None:
        """The outline has changed."""
        self._every.clear()

    # ------------------------------------------------------------------ all of a kind, in the order of the text

    @property
    def nodes(self) -> list[ast.AST]:
        known = self._every.get(())
        if known is None:
            known = self._every[()] = [n for piece in self.outline.pieces for n in piece.nodes]
        return known

    @overload
    def every(self, first: type[N], /) -> list[N]: ...
    @overload
    def every(self, first: type[N], second: type[M], /) -> list[N | M]: ...
    @overload
    def every(self, first: type[N], second: type[M], third: type[L], /) -> list[N | M | L]: ...
    def every(self, *types: type[ast.AST]) -> Sequence[ast.AST]:
        """The nodes of some types (of themselves: none derived from them)."""
        known = self._every.get(types)
        if known is None:
            known = self._every[types] = [n for piece in self.outline.pieces for n in piece.every(types)]
        return known

    @property
    def calls(self) -> list[ast.Call]:
        return self.every(ast.Call)

    @property
    def functions(self) -> list[Function]:
        return self.every(ast.FunctionDef, ast.AsyncFunctionDef)

    @property
    def classes(self) -> list[ast.ClassDef]:
        return self.every(ast.ClassDef)

    # ------------------------------------------------------------------ upwards

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parent
        while node in parent:
            node = parent[node]
            yield node

    def inside(self, node: ast.AST, place: ast.AST) -> bool:
        """Whether `place` is the node or stands around it."""
        return node is place or any(a is place for a in self.ancestors(node))

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node (itself, if it is one)."""
        while not isinstance(node, ast.stmt):
            node = self.parent[node]
        return node

    def function(self, node: ast.AST) -> Function | None:
        """The innermost `def` whose *body* holds a node; None at module (or class) level. Decorators, defaults and
        annotations of a `def` belong outside it."""
        child, parent = node, self.parent  # asked so often that a generator's turns would show
        while child in parent:
            around = parent[child]
            if isinstance(around, FUNCTIONS) and self.field[child] == "body":
                return around
            child = around
        return None

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class in whose body a node stands, however deep."""
        return next((a for a in self.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def method_class(self, function: ast.AST | None) -> ast.ClassDef | None:
        """The class of which a `def` is a method."""
        parent = self.parent.get(function) if function is not None else None
        return parent if isinstance(parent, ast.ClassDef) else None

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops whose *body* holds a node, inside its own function, innermost first."""
        found: list[Loop] = []
        child, parent = node, self.parent
        while child in parent:
            around = parent[child]
            if isinstance(around, CALLABLES):
                break
            if isinstance(around, LOOPS) and self.field[child] == "body":
                found.append(around)
            child = around
        return found

    def turned_with(self, node: ast.AST) -> list[Loop]:
        """The same, and before them the `while` whose test holds it: `while session.run(count) < n:` runs it with each turn."""
        statement = self.statement(node)
        tested = isinstance(statement, ast.While) and self.inside(node, statement.test)
        return [statement, *self.loops(statement)] if tested else self.loops(node)  # type: ignore[list-item]

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement is one of."""
        siblings = getattr(self.parent[statement], self.field[statement])
        assert isinstance(siblings, list)
        return siblings

    def conditions(self, node: ast.AST) -> list[tuple[ast.If | ast.IfExp, str]]:
        """The `if`s around a node inside its function, innermost first, with the arm ("body", "orelse") it is in."""
        found: list[tuple[ast.If | ast.IfExp, str]] = []
        child = node
        for a in self.ancestors(node):
            if isinstance(a, CALLABLES):
                break
            if isinstance(a, (ast.If, ast.IfExp)) and self.field[child] in ("body", "orelse"):
                found.append((a, self.field[child]))
            child = a
        return found


def numbered(call: ast.Call) -> ast.expr | None:
    """What `enumerate(data)` or a dataset's `data.enumerate()` numbers; None of another call."""
    if isinstance(call.func, ast.Attribute):
        return call.func.value if call.func.attr == "enumerate" else None
    return (
        call.args[0]
        if isinstance(call.func, ast.Name) and call.func.id == "enumerate" and call.args
        else None
    )


def is_forever(node: ast.AST) -> bool:
    """`while True:`, which only what stands in it can leave."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`"""
    return isinstance(node, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in walk(node.test)
    )


def position(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.lineno, node.col_offset


def end(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def is_super(e: ast.AST) -> bool:
    """Whether an expression is `super()`, however it is spelt."""
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "super"


def argument(call: ast.Call, name: str, index: int | None = None) -> ast.expr | None:
    """What a call passes for a parameter, by keyword or position; None also where `*args` hides it."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if (
        index is not None
        and index < len(call.args)
        and not any(isinstance(a, ast.Starred) for a in call.args[: index + 1])
    ):
        return call.args[index]
    return None


def arguments(call: ast.Call) -> list[ast.expr]:
    """All that a call passes, by position and by keyword."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def has_unpacking(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` may pass anything."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def says_none(e: ast.AST | None) -> bool:
    """Whether an expression is None, written out."""
    return isinstance(e, ast.Constant) and e.value is None


def is_one(e: ast.AST | None) -> bool:
    """Whether an expression is the number 1, written out."""
    return isinstance(e, ast.Constant) and e.value == 1


def may_give(call: ast.Call, name: str) -> bool:
    """Whether a call gives an argument by its name, or may do so by `**`."""
    return any(keyword.arg in (name, None) for keyword in call.keywords)
