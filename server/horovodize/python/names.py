"""What names mean: every expression's canonical dotted name, through imports, aliases and plain assignments."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize import catalogue
from horovodize.python.binding import Binding
from horovodize.python.memo import Memo
from horovodize.python.scopes import Scopes

_VERSION_1 = "tensorflow.compat.v1"


class Names:
    """Canonical names of expressions."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        # a cycle of assignments (`x = x.y` in a loop) means nothing
        self._canonical = Memo[ast.AST, str | None](scopes.reads, self._find, None)
        self.of_unresolved = Memo[ast.Name, str | None](scopes.reads, self._follow_to_import, None)
        self._kept = Memo[str, str | None](scopes.reads, self._find_kept, None)

    def forget(self, changed: int, gone: Sequence[ast.AST]) -> None:
        """Forgets what changed entries of tables led to, and all about nodes that are gone."""
        self._canonical.forget(changed, gone)
        self.of_unresolved.forget(changed, (n for n in gone if isinstance(n, ast.Name)))
        self._kept.forget(changed)

    def of(self, expression: ast.AST | None) -> str | None:
        """`keras.optimizers.Adam`, however it is imported → "tensorflow.keras.optimizers.Adam"; None where unknown.

        Relative imports keep their dots: they are modules of the workspace, not TensorFlow."""
        kind = type(expression)
        return self._canonical(expression) if kind is ast.Name or kind is ast.Attribute else None  # type: ignore[arg-type]

    def _find(self, expression: ast.AST) -> str | None:
        raw = self._raw(expression) if isinstance(expression, (ast.Name, ast.Attribute)) else None
        return catalogue.canonical(raw) if raw else None

    def _raw(self, expression: ast.Name | ast.Attribute) -> str | None:
        if isinstance(expression, ast.Attribute):
            of_project = self.scopes.links.of_module(expression)
            if of_project is not None:
                return self._imported_by(of_project)
            base = expression.value
            if not isinstance(base, (ast.Name, ast.Attribute)):
                return None
            inner = self._raw(base) if isinstance(base, ast.Attribute) else self.of_unresolved(base)
            return f"{inner}.{expression.attr}" if inner else self._kept(expression.attr)
        return self.of_unresolved(expression)

    def _find_kept(self, attribute: str) -> str | None:
        """What an attribute stands for that is only ever given a module or what an import brings: `self.rng = np.random`."""
        self.scopes.reads.note("attribute", attribute)
        bound = self.scopes.attributes.get(attribute, ())
        given = {self._assigned(b.value) if b.kind == "assign" and not b.path else None for b in bound}
        return given.pop() if len(given) == 1 else None

    def written(self, expression: ast.Name | ast.Attribute) -> str | None:
        """The dotted name as the file spells it from the import on: "tensorflow.Session", which `of` calls
        "tensorflow.compat.v1.Session"."""
        return self._raw(expression)

    def _follow_to_import(self, name: ast.Name) -> str | None:
        """The dotted path that a name stands for as it was imported, before it is made canonical."""
        bindings = self.scopes.reaching(name)
        if self.scopes.links.module(name) is not None:
            return None
        return self._imported_by(bindings) if bindings else self._starred(name.id)

    def _imported_by(self, bindings: list[Binding]) -> str | None:
        """The dotted path that bindings stand for."""
        for binding in bindings:
            if binding.kind == "import":
                return binding.imported
            found = self._assigned(binding.value) if binding.kind == "assign" and not binding.path else None
            if found:
                return found
        return None

    def _assigned(self, value: ast.expr | None) -> str | None:
        """The same of what is assigned: a name, or TensorFlow 1 by whatever name the version has it under,
        `tf.compat.v1 if hasattr(tf, "compat") else tf`."""
        match value:
            case ast.Name():
                return self.of_unresolved(value)
            case ast.Attribute():
                return self._raw(value)
            case ast.IfExp(body=body, orelse=orelse):
                either = {self._assigned(body), self._assigned(orelse)}
                return _VERSION_1 if either == {_VERSION_1, "tensorflow"} else None
            case _:
                return None

    def _starred(self, name: str) -> str | None:
        """A name that only a star import can have brought, where the catalogue knows it there. The modules of Keras before
        TensorFlow's own (2.3) had no `__all__`, and brought their name for its backend, too."""
        self.scopes.reads.note("star import", "")
        for base, _ in self.scopes.star_imports:
            if name == "K" and base.startswith("keras."):
                return "keras.backend"
            path = catalogue.canonical(f"{base}.{name}")
            if catalogue.cls(path) or catalogue.function(path):
                return path
        return None

    def last(self, expression: ast.AST) -> str:
        """The last part of what is called, whatever it hangs on: `a.b().Adam` → "Adam"."""
        full = self.of(expression)
        if full:
            return full.rsplit(".", 1)[-1]
        if isinstance(expression, ast.Attribute):
            return expression.attr
        return expression.id if isinstance(expression, ast.Name) else ""
