"""Imports between the modules of a project: what a name means that another module of it binds.

Without links (one module by itself) every import leads outside. With them, an imported name has the bindings that it has in
the module that it comes from, so whoever asks where a value comes from is led across files without noticing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from horovodize.python.binding import Binding
    from horovodize.python.scopes import Scopes

# For each module: what it may import, by the dotted path as it is written there ("nets.model", ".model"), and what that is.
Targets = Mapping[ast.Module, Mapping[str, ast.Module]]


class Links:
    """The imports of one project, on top of its scopes."""

    def __init__(self, scopes: Scopes, targets: Targets) -> None:
        self.scopes, self.targets = scopes, targets

    def followed(self, binding: Binding, depth: int = 0) -> list[Binding]:
        """The bindings that an import stands for; the binding itself where it leads out of the project."""
        if binding.kind != "import" or not self.targets or depth > 8:
            return [binding]
        found = self._exported(self.scopes.root(binding.statement), binding.imported)
        if not found:
            return [binding]
        return [b for f in found for b in self.followed(f, depth + 1)]

    def of_module(self, e: ast.Attribute) -> list[Binding] | None:
        """The bindings of `model.Net`, where `model` is a module of the project; None where it is not."""
        if not self.targets:
            return None
        module = self.module(e.value)
        if module is None:
            return None
        return [b for x in self._bound(module, e.attr) for b in self.followed(x)]

    def module(self, e: ast.expr) -> ast.Module | None:
        """The module of the project that an expression names: `import nets.model` … `nets.model`."""
        if not self.targets:
            return None
        path = self._path(e)
        if path is None:
            return None
        root, dotted = path
        return self.targets.get(root, {}).get(dotted)

    def _path(self, e: ast.expr) -> tuple[ast.Module, str] | None:
        """What an expression names, as the dotted path of an import in its module."""
        if isinstance(e, ast.Attribute):
            inner = self._path(e.value)
            return (inner[0], f"{inner[1]}.{e.attr}") if inner is not None else None
        if not isinstance(e, ast.Name):
            return None
        for binding in self.scopes.bound(e):
            if binding.kind == "import":
                return self.scopes.root(binding.statement), binding.imported
        return None

    def starred(self, name: str, root: ast.Module) -> Iterator[Binding]:
        """The bindings that a name may have by `from model import *`. Names with an underscore are not exported so."""
        for binding in self._starred(name, root, {root}):
            yield from self.followed(binding)

    def _exported(self, root: ast.Module, imported: str) -> list[Binding]:
        """What `from base import name` binds: the bindings of `name` in the module `base`."""
        base, _, name = imported.rpartition(".")
        if imported.startswith(".") and not base.strip("."):
            base = imported[: len(imported) - len(name)]
        module = self.targets.get(root, {}).get(base)
        return self._bound(module, name) if module is not None else []

    def _bound(self, module: ast.Module, name: str) -> list[Binding]:
        table = self.scopes.names.get(module, {})
        return list(reversed(table.get(name, []))) or list(self._starred(name, module, {module}))

    def _starred(self, name: str, root: ast.Module, seen: set[ast.Module]) -> Iterator[Binding]:
        """The bindings, in the modules that have them, of a name that star imports of `root` bring, one behind another."""
        if name.startswith("_"):
            return
        for base, statement in self.scopes.star_imports:
            module = self.targets.get(root, {}).get(base) if self.scopes.root(statement) is root else None
            if module is not None and module not in seen:
                seen.add(module)
                own = self.scopes.names.get(module, {}).get(name, [])
                yield from reversed(own)
                if not own:
                    yield from self._starred(name, module, seen)
