"""The shape of a module: its top-level statements, and what stands inside what.

A text that changes by a keystroke keeps most of its tree. So a tree is held in pieces, one for each top-level statement, and
a new version of the text replaces only the pieces that the change touches (`horovodize.source.reparse`)."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Iterable, Sequence
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)

# Fields that hold no node, or one that nobody asks for and that many nodes share (`ctx`, `op`, `ops`).
_PLAIN = frozenset(
    "ctx op ops type_comment kind level module asname is_async conversion simple id attr".split()
)
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


class Piece:
    """A top-level statement with the nodes in it, itself first, in the order of the text. The first piece of a tree is its
    `ast.Module` alone."""

    __slots__ = ("_of_types", "_placed", "_where", "nodes", "root")

    def __init__(self, root: ast.AST, nodes: list[ast.AST]) -> None:
        self.root = root
        self.nodes = nodes
        # the nodes of a type, as numbers in `nodes`
        self._where: dict[type[ast.AST], array[int]] | None = None
        self._of_types: dict[tuple[type[ast.AST], ...], list[ast.AST]] = {}
        self._placed: list[ast.stmt] | None = None

    def move(self, lines: int) -> None:
        """Moves the nodes down by some lines (up, if negative)."""
        if self._placed is None:  # typed as one kind of nodes that have a place
            self._placed = [n for n in self.nodes if hasattr(n, "lineno")]  # type: ignore[misc]
        for node in self._placed:
            node.lineno += lines
            node.end_lineno += lines  # type: ignore[operator]

    def every(self, types: tuple[type[ast.AST], ...]) -> list[ast.AST]:
        """The nodes of some types, in order."""
        known = self._of_types.get(types)
        if known is None:
            where = self._where
            if where is None:
                where = self._where = {}
                for at, node in enumerate(self.nodes):
                    kind = type(node)
                    if kind not in where:
                        where[kind] = array("I")  # a fourth of what a list takes
                    where[kind].append(at)
            found = [at for kind in types for at in where.get(kind, ())]
            if len(types) > 1:
                found.sort()
            known = self._of_types[types] = [self.nodes[at] for at in found]
        return known


class Fields(dict[ast.AST, str]):
    """The field of its parent that holds a node: looked for when one is first asked for, with those of what stands beside it.
    KeyError for what has no parent."""

    def __init__(self, parent: dict[ast.AST, ast.AST]) -> None:
        super().__init__()
        self._parent = parent

    def __missing__(self, node: ast.AST) -> str:
        parent = self._parent[node]
        for name in _inner(type(parent)):
            value = getattr(parent, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    self[child] = name
        return self[node]


class Outline:
    """Trees in pieces, with the parent of each node and the parent's field that holds it.

    trees   one module; of a project, those that are imported first, the script last
    pieces  of all trees, in order"""

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self.trees = tuple(trees)
        self.parent: dict[ast.AST, ast.AST] = {}
        self.field = Fields(self.parent)
        self.pieces: list[Piece] = []
        for tree in trees:
            self.pieces.append(Piece(tree, [tree]))
            self.pieces += self._pieces(tree, tree.body)

    def _pieces(self, tree: ast.Module, statements: Iterable[ast.stmt]) -> list[Piece]:
        found = []
        for statement in statements:
            self.parent[statement] = tree
            found.append(Piece(statement, self._walk(statement)))
        return found

    def _walk(self, root: ast.AST) -> list[ast.AST]:
        """The nodes of a statement in the order of the text, so that lists made from them are too."""
        parent = self.parent
        nodes: list[ast.AST] = []
        todo = [root]
        while todo:
            node = todo.pop()
            nodes.append(node)
            kind = type(node)
            names = _FIELDS.get(kind)
            if names is None:
                names = _inner(kind)
            if not names:
                continue  # most nodes are names and constants
            for name in names:  # from the last to the first, as what is put on the pile last is taken first
                value = getattr(node, name, None)
                if isinstance(value, ast.AST):
                    parent[value] = node
                    todo.append(value)
                elif isinstance(value, list):
                    for child in reversed(value):
                        if isinstance(child, ast.AST):
                            parent[child] = node
                            todo.append(child)
        return nodes

    # ------------------------------------------------------------------ a new version of the text

    def replace(self, start: int, end: int, statements: Sequence[ast.stmt], lines: int) -> Replaced:
        """Puts other statements in the place of those from `start` up to `end` of the one tree's body, and moves what stands
        behind them down by some lines (up, if negative)."""
        (tree,) = self.trees
        removed = self.pieces[start + 1 : end + 1]
        for piece in removed:
            for node in piece.nodes:
                del self.parent[node]
                self.field.pop(node, None)
        if lines:
            for piece in self.pieces[end + 1 :]:
                piece.move(lines)
        added = self._pieces(tree, statements)
        tree.body[start:end] = statements
        self.pieces[start + 1 : end + 1] = added
        return Replaced(removed, added)


def _inner(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a node that may hold others, the last one first."""
    names = _FIELDS.get(kind)
    if names is None:
        plain = kind._fields if kind is ast.Constant else _PLAIN
        names = _FIELDS[kind] = tuple(f for f in reversed(kind._fields) if f not in plain)
    return names


class Replaced:
    """Pieces of an earlier version, and those that stand in their place now."""

    def __init__(self, removed: list[Piece], added: list[Piece]) -> None:
        self.removed = removed
        self.added = added
