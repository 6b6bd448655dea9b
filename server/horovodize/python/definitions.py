"""The classes of a module and their methods, by name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from horovodize.python.memo import Reads
from horovodize.python.syntax import FUNCTIONS, Function, Syntax
from horovodize.source.outline import Piece, Replaced


class Definitions:
    """Tables of classes and methods. What is asked for is noted in `reads`."""

    def __init__(self, syntax: Syntax, reads: Reads) -> None:
        self.syntax, self.reads = syntax, reads
        self._read()

    def _read(self) -> None:
        self._classes = {c.name: c for c in self.syntax.classes}
        self._methods: dict[str, list[Function]] = defaultdict(list)
        for f in self.syntax.functions:
            if self.syntax.method_class(f) is not None:
                self._methods[f.name].append(f)
        self._fields: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for c in self._classes.values():
            for name in _fields(c):
                self._fields[name].append(c)

    def replace(self, replaced: Replaced) -> int:
        """Brings everything up to date with an outline of which pieces were replaced. Gives what has changed, for `Reads`."""
        before = set(self._methods)
        self._read()
        classes = [*_classes(replaced.removed), *_classes(replaced.added)]
        methods = [(s.name, c.name) for c in classes for s in c.body if isinstance(s, FUNCTIONS)]
        return (
            self.reads.of("class", {c.name for c in classes})
            | self.reads.of("classes", {"all"} if classes else ())
            | self.reads.of("field", {name for c in classes for name in _fields(c)})
            | self.reads.of("any method", before ^ set(self._methods))
            | self.reads.of("method", {name for name, _ in methods})
            | self.reads.of("method of", {f"{name} {cls}" for name, cls in methods})
        )

    def class_named(self, name: str) -> ast.ClassDef | None:
        """The (last) class of the module that is called so."""
        self.reads.note("class", name)
        return self._classes.get(name)

    def classes(self) -> list[ast.ClassDef]:
        """All classes of the module, of several with one name the last."""
        self.reads.note("classes", "all")
        return list(self._classes.values())

    def classes_with(self, field: str) -> list[ast.ClassDef]:
        """The classes whose bodies give a field its value: `class Trainer: optimizer = Adam(0.1)`."""
        self.reads.note("field", field)
        return list(self._fields.get(field, ()))

    def has_method(self, name: str) -> bool:
        """Whether some class has a method that is called so."""
        self.reads.note("any method", name)
        return name in self._methods

    def methods(self, name: str) -> list[Function]:
        """The methods of any class that are called so, in the order of the text."""
        self.reads.note("method", name)
        return list(self._methods.get(name, ()))

    def methods_of(self, name: str, classes: Iterable[object]) -> list[Function]:
        """Those of them that are methods of some classes; what is no class does not count."""
        among = {c for c in classes if isinstance(c, ast.ClassDef)}
        for cls in among:
            self.reads.note("method of", f"{name} {cls.name}")
        return [m for m in self._methods.get(name, ()) if self.syntax.parent[m] in among] if among else []


def _classes(pieces: Iterable[Piece]) -> list[ast.ClassDef]:
    return [
        node for piece in pieces for node in piece.every((ast.ClassDef,)) if isinstance(node, ast.ClassDef)
    ]


def _fields(cls: ast.ClassDef) -> dict[str, None]:
    """What the body of a class gives a value."""
    targets = [t for s in cls.body if isinstance(s, ast.Assign) for t in s.targets]
    targets += [s.target for s in cls.body if isinstance(s, ast.AnnAssign) and s.value is not None]
    return dict.fromkeys(t.id for t in targets if isinstance(t, ast.Name))
