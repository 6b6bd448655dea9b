"""Elements that are set one by one: `batch[j] = row`, `sums[i] += grads[i]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from horovodize.python.module import Module

Setting: TypeAlias = ast.Assign | ast.AugAssign


class Elements:
    """Where one module sets elements of what names and attributes stand for."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def statements(self, name: ast.Name) -> list[ast.Assign]:
        """The assignments to elements of what a name stands for, also to elements of those: `batch[j][k], n = 1, 2`."""
        return [s for s in self._of(name) if isinstance(s, ast.Assign)]

    def values(self, held: ast.Name | ast.Attribute) -> list[ast.expr]:
        """What elements of what a name or attribute stands for are set to, or what is added to them."""
        return [s.value for s in self._of(held)]

    def _of(self, held: ast.Name | ast.Attribute) -> list[Setting]:
        found = self._settings.get(_word(held), ())
        return [s for holder, s in found if self.are_one(holder, held)]

    def are_one(self, holder: ast.expr, held: ast.expr) -> bool:
        """Whether two places name one thing: a variable, an attribute that is set in the same places."""
        match holder, held:
            case ast.Name(id=name), ast.Name(id=other):
                lookup = self._module.scopes.lookup
                return name == other and lookup(name, holder) is lookup(name, held)
            case ast.Attribute(), ast.Attribute():
                bindings = self._module.values.attribute_bindings
                return any(b in bindings(held) for b in bindings(holder))
        return False

    @cached_property
    def _settings(self) -> dict[str, list[tuple[ast.expr, Setting]]]:
        """By the name or the attribute's name, the places whose elements are set."""
        found: dict[str, list[tuple[ast.expr, Setting]]] = {}
        for statement in self._statements():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for t in targets:
                for e in t.elts if isinstance(t, ast.Tuple) else [t]:
                    holder: ast.expr = e
                    while isinstance(holder, ast.Subscript):
                        holder = holder.value
                    if holder is not e and isinstance(holder, (ast.Name, ast.Attribute)):
                        found.setdefault(_word(holder), []).append((holder, statement))
        return found

    def _statements(self) -> Iterator[Setting]:
        yield from self._module.syntax.every(ast.Assign)
        yield from self._module.syntax.every(ast.AugAssign)


def _word(held: ast.Name | ast.Attribute) -> str:
    return held.id if isinstance(held, ast.Name) else held.attr
