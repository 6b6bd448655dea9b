"""The nodes of a module by what they are called, so that who looks for a few of them need not look at all.

A table is made piece by piece, and kept for the pieces that a new version of the text leaves as they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from horovodize.python.memo import Memo, Reads
from horovodize.source.outline import Outline, Piece

N = TypeVar("N", bound=ast.expr)
M = TypeVar("M", bound=ast.AST)


class Table(Generic[N]):
    """Nodes by keys. `entries`: the nodes of a piece that the table holds, with their keys, in the order of the text."""

    def __init__(
        self, outline: Outline, reads: Reads, entries: Callable[[Piece], Iterable[tuple[str, N]]]
    ) -> None:
        self._outline = outline
        self._entries = entries
        self._of_piece: Memo[Piece, dict[str, list[N]]] = Memo(reads, self._find, {})
        self._by_piece: list[dict[str, list[N]]] | None = None
        # of this version: what was asked for, and the keys by their last part
        self._asked: dict[str, list[N]] = {}
        self._by_last: dict[str, list[str]] | None = None

    def _find(self, piece: Piece) -> dict[str, list[N]]:
        found: dict[str, list[N]] = {}
        for key, node in self._entries(piece):
            found.setdefault(key, []).append(node)
        return found

    def forget(self, changed: int, gone: Iterable[Piece]) -> None:
        """Forgets what changed entries of other tables led to, and all about pieces that are gone."""
        self._of_piece.forget(changed, gone)
        self._by_piece = self._by_last = None
        self._asked.clear()

    @property
    def _all(self) -> list[dict[str, list[N]]]:
        if self._by_piece is None:
            self._by_piece = [entries for entries in self._of_piece.each(self._outline.pieces) if entries]
        return self._by_piece

    def __iter__(self) -> Iterator[str]:
        """The keys, each once, in no order."""
        return iter(set().union(*self._all))

    def ending(self, last: str) -> list[str]:
        """The keys whose last part, `a.b.last`, is this, each once, in no order."""
        if self._by_last is None:
            self._by_last = {}
            for key in set[str]().union(*self._all):
                self._by_last.setdefault(key.rpartition(".")[2], []).append(key)
        return self._by_last.get(last, [])

    def get(self, *keys: str) -> list[N]:
        """The nodes with any of some keys, in the order of the text."""
        if len(keys) == 1:
            return list(self._of(keys[0]))
        return in_order([n for key in dict.fromkeys(keys) for n in self._of(key)])

    def _of(self, key: str) -> list[N]:
        known = self._asked.get(key)
        if known is None:
            known = self._asked[key] = [n for entries in self._all for n in entries.get(key, ())]
        return known


class Picked(Generic[M]):
    """The nodes that a test picks. `find`: those of a piece, in the order of the text."""

    def __init__(self, outline: Outline, reads: Reads, find: Callable[[Piece], list[M]]) -> None:
        self._outline = outline
        self._of_piece: Memo[Piece, list[M]] = Memo(reads, find, [])
        self._all: list[M] | None = None

    def forget(self, changed: int, gone: Iterable[Piece]) -> None:
        """Forgets what changed entries of tables led to, and all about pieces that are gone."""
        self._of_piece.forget(changed, gone)
        self._all = None

    @property
    def all(self) -> list[M]:
        """Those of this version, nobody's to change."""
        if self._all is None:
            self._all = [node for found in self._of_piece.each(self._outline.pieces) for node in found]
        return self._all


def in_order(nodes: Iterable[N]) -> list[N]:
    """Expressions in the order of the text, outer ones before those in them."""
    return sorted(
        nodes, key=lambda n: (n.lineno, n.col_offset, -(n.end_lineno or 0), -(n.end_col_offset or 0))
    )


def written(piece: Piece) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a piece by how they are written: `fit(…)` → "fit", `model.fit(…)` → ".fit"."""
    for call in piece.every((ast.Call,)):
        assert isinstance(call, ast.Call)
        if isinstance(call.func, ast.Name):
            yield call.func.id, call
        elif isinstance(call.func, ast.Attribute):
            yield "." + call.func.attr, call


def loads(piece: Piece) -> Iterator[tuple[str, ast.expr]]:
    """The names and attributes of a piece that are read, by their own name."""
    for node in piece.every((ast.Name, ast.Attribute)):
        if isinstance(node, ast.Name) and type(node.ctx) is ast.Load:
            yield node.id, node
        elif isinstance(node, ast.Attribute) and type(node.ctx) is ast.Load:
            yield node.attr, node
