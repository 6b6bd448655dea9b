"""Rows that are made of other rows of the same step: divided once, where those are.

`step(rows)` with `net(rows) - tf.sin(rows)` in it: as the rows are divided, so is their sine. Divided as well, it would have
a part of a part of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable


class DividedOnce:
    """What arrays that stay the same in each turn are made of, noted while a step is read."""

    def __init__(self) -> None:
        self._made_of: dict[ast.expr, dict[ast.expr, None]] = {}

    def note(self, whole: ast.expr, parts: Iterable[ast.expr]) -> None:
        """Notes where else the rows of an array could be divided."""
        self._made_of.setdefault(whole, {}).update((p, None) for p in parts if p is not whole)

    def settled(self, rows: dict[ast.expr, None]) -> dict[ast.expr, None]:
        """Rows without those that are made of others among them: what else these are made of is there in their place."""
        done = set[ast.expr]()
        while True:
            again = next((r for r in rows if r not in done and self._sources(r) & rows.keys()), None)
            if again is None:
                return rows
            done.add(again)
            rows = {p: None for r in rows for p in (self._made_of[again] if r is again else [r])}

    def _sources(self, rows: ast.expr) -> set[ast.expr]:
        found, todo = set[ast.expr](), [rows]
        while todo:
            for part in self._made_of.get(todo.pop(), ()):
                if part not in found and part is not rows:
                    found.add(part)
                    todo.append(part)
        return found


__all__ = ["DividedOnce"]
