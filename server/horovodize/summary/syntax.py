"""The shape of a module: what stands inside what."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CALLABLES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# Fields that hold no node, or one that nobody asks for (`ctx`, `op`).
_PLAIN = {
    "ctx",
    "op",
    "type_comment",
    "kind",
    "level",
    "module",
    "asname",
    "is_async",
    "conversion",
    "simple",
    "id",
    "attr",
}
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


class Syntax:
    """Parents of nodes, and the lists that everything else starts from. One walk over the tree.

    tree   the module; of a project, the script that is run
    trees  the modules of a project, those that are imported first; of a module by itself, just that"""

    def __init__(self, tree: ast.Module, imported: Sequence[ast.Module] = ()) -> None:
        self.tree = tree
        self.trees = (*imported, tree)
        self.parent: dict[ast.AST, ast.AST] = {}
        self.field: dict[ast.AST, str] = {}
        self.nodes: list[ast.AST] = []
        self.calls: list[ast.Call] = []
        self.functions: list[Function] = []
        self.classes: list[ast.ClassDef] = []
        self._walk()

    def _walk(self) -> None:
        """In the order of the text, so that lists made from it are too."""
        parent, field, nodes = self.parent, self.field, self.nodes
        todo: list[ast.AST] = list(reversed(self.trees))
        while todo:
            node = todo.pop()
            nodes.append(node)
            if isinstance(node, ast.Call):
                self.calls.append(node)
            elif isinstance(node, FUNCTIONS):
                self.functions.append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
            children: list[ast.AST] = []
            kind = type(node)
            names = _FIELDS.get(kind)
            if names is None:
                names = _FIELDS[kind] = tuple(f for f in kind._fields if f not in _PLAIN)
            for name in names:
                value = getattr(node, name, None)
                if isinstance(value, ast.AST):
                    if isinstance(value, (ast.expr_context, ast.operator)):
                        continue
                    parent[value], field[value] = node, name
                    children.append(value)
                elif isinstance(value, list):
                    for child in value:
                        if isinstance(child, ast.AST):
                            parent[child], field[child] = node, name
                            children.append(child)
            todo.extend(reversed(children))

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
        child = node
        for a in self.ancestors(node):
            if isinstance(a, FUNCTIONS) and self.field[child] == "body":
                return a
            child = a
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
        child = node
        for a in self.ancestors(node):
            if isinstance(a, CALLABLES):
                break
            if isinstance(a, LOOPS) and self.field[child] == "body":
                found.append(a)
            child = a
        return found

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


def position(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.lineno, node.col_offset


def end(node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


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


def has_unpacking(call: ast.Call) -> bool:
    """Whether `*args` or `**kwargs` may pass anything."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
