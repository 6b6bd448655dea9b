"""One module, read: its syntax, scopes, names and values, in the order in which each needs the one before."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from horovodize import catalogue
from horovodize.python.links import Targets
from horovodize.python.names import Names
from horovodize.python.scopes import Scopes
from horovodize.python.syntax import Syntax
from horovodize.python.tables import Picked, Table, in_order, loads, written
from horovodize.python.values import Values
from horovodize.source import Document, Span
from horovodize.source.outline import Outline, Piece, Replaced

_TENSORFLOW = ("tensorflow", "keras", "tf_keras")
_MANY_READS = 2_000
_WHOLE = ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2")

N = TypeVar("N", bound=ast.AST)
Test: TypeAlias = "Callable[[Module, N], object]"


class Module:
    """The meaning of a document that parses; of a project, with the modules that its script imports.

    calls          calls of functions and classes that are known, by their canonical names
    calls_written  calls by how they are written: "fit", ".fit"
    loads          names and attributes that are read, by their own names"""

    def __init__(
        self, document: Document, imported: Sequence[ast.Module] = (), targets: Targets | None = None
    ) -> None:
        assert document.tree is not None
        self.document = document
        self.tree = document.tree
        self.syntax = Syntax(Outline([*imported, document.tree]) if imported else document.outline)
        self.scopes = Scopes(self.syntax, targets)
        self.names = Names(self.scopes)
        self.values = Values.read(self.syntax, self.scopes, self.names)
        outline, reads = self.syntax.outline, self.scopes.reads
        self.calls = Table(outline, reads, self._canonical)
        self.calls_written = Table(outline, reads, written)
        self.loads = Table(outline, reads, loads)
        self._picked: dict[tuple[Test[Any], tuple[type[ast.AST], ...]], Picked[Any]] = {}

    @classmethod
    def of(cls, document: Document) -> Module:
        """The meaning of a document; that of its last version, brought up to date, where there is one."""
        known = document.meaning
        if not isinstance(known, Module) or known._is_used_up:
            known = document.meaning = Module(document)
        known.document = document
        return known

    @property
    def _is_used_up(self) -> bool:
        """Whether it can't be brought up to date, or holds too much of names that are long gone."""
        return not self.scopes.local or len(self.scopes.reads) > 2 * len(self.syntax.nodes) + _MANY_READS

    def outdated_by(self, replaced: Replaced) -> None:
        """Brings everything up to date with the document's outline, of which some pieces were replaced."""
        self.syntax.forget()
        gone = [node for piece in replaced.removed for node in piece.nodes]
        changed = self.scopes.replace(replaced)
        changed |= self.values.definitions.replace(replaced)
        self.scopes.bound.forget(changed, (n for n in gone if isinstance(n, ast.Name)))
        self.names.forget(changed, gone)
        changed = self.values.forget(changed, gone)
        for table in (self.calls, self.calls_written, self.loads):
            table.forget(changed, replaced.removed)
        for picked in self._picked.values():
            picked.forget(changed, replaced.removed)

    @property
    def tensorflow_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The statements that import TensorFlow or Keras, in order."""
        found: list[ast.Import | ast.ImportFrom] = []
        for node in self.syntax.every(ast.Import, ast.ImportFrom):
            if isinstance(node, ast.Import):
                if any(a.name.split(".")[0] in _TENSORFLOW for a in node.names):
                    found.append(node)
            elif not node.level:
                if (node.module or "").split(".")[0] in _TENSORFLOW:
                    found.append(node)
        return found

    @property
    def imported(self) -> set[str]:
        """Dotted paths of everything that is imported, as written."""
        return {b.imported for b in self.scopes.imports} | {base for base, _ in self.scopes.star_imports}

    def imports(self, *roots: str) -> bool:
        """Whether any of these packages (or something in them) is imported."""
        return any(path == root or path.startswith(root + ".") for path in self.imported for root in roots)

    def calls_of(self, *names: str) -> list[ast.Call]:
        """The calls of functions or classes with these canonical names."""
        return self.calls.get(*names)

    def _canonical(self, piece: Piece) -> Iterator[tuple[str, ast.Call]]:
        for call in piece.every((ast.Call,)):
            assert isinstance(call, ast.Call)
            name = self.names.of(call.func)
            if name is not None:
                yield name, call

    def which(self, test: Test[N], *kinds: type[N]) -> list[N]:
        """The nodes of some types that a test holds for, in the order of the text, nobody's to change.

        It is asked once of each, as long as what it looked up stays as it was: so it may ask what `names`, `scopes` and
        `values` say of a node, of what stands in it and around it, and nothing else: not where it stands, and no list or table
        of the whole module. It is a function at the top of a module: answers are kept by it."""
        picked = self._picked.get((test, kinds))
        if picked is None:

            def find(piece: Piece) -> list[N]:
                found: list[N] = piece.every(kinds)  # type: ignore[assignment]
                return [n for n in found if test(self, n)]

            picked = self._picked[test, kinds] = Picked(self.syntax.outline, self.scopes.reads, find)
        return picked.all

    def calls_which(self, test: Test[ast.Call]) -> list[ast.Call]:
        """The calls that a test holds for: see `which`."""
        return self.which(test, ast.Call)

    def calls_called(self, *names: str) -> list[ast.Call]:
        """The calls of functions or classes, known or not, whose own name is one of these."""
        known = [full for name in dict.fromkeys(names) for full in self.calls.ending(name)]
        unknown = self.calls_written.get(*names, *(f".{name}" for name in names))
        return in_order([*self.calls.get(*known), *(c for c in unknown if self.names.of(c.func) is None)])

    def makes(self, call: ast.Call, ancestor: str) -> bool:
        """Whether a call constructs an instance of a TensorFlow class (or of a class derived from it here)."""
        return ancestor in self.values.made_by(call)

    def span(self, node: ast.AST) -> Span:
        """The span of a node; that of the whole text's start for nodes without a place."""
        if isinstance(node, (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.alias)):
            return self.document.span(node)
        return Span(0, 0)

    def text(self, node: ast.AST) -> str:
        """A node's text as it stands in the file."""
        span = self.span(node)
        return self.document.text[span.start : span.end]

    def tensorflow_name(self) -> str | None:
        """What `tensorflow` (or its `compat.v1`, which has all that we use) is called at module level, if it is imported
        whole there."""
        for binding in self.scopes.imports:
            if binding.imported in _WHOLE and self.syntax.function(binding.statement) is None:
                return binding.name
        return None

    @property
    def optimizers(self) -> list[ast.Call]:
        """The calls that construct an optimizer, as `is_optimizer` says."""
        return self.calls_which(Module.is_optimizer)

    @property
    def layers(self) -> list[ast.Call]:
        """The calls that make Keras' own layers."""
        return self.calls_which(_makes_a_layer)

    def is_optimizer(self, call: ast.Call) -> bool:
        """Whether a call constructs an optimizer that has a learning rate of its own, or wraps one."""
        return is_optimizer_class(self.values.made_by(call))


OPTIMIZERS = (
    "tensorflow.keras.optimizers.Optimizer",
    "tensorflow.keras.optimizers.legacy.Optimizer",
    "tensorflow.compat.v1.train.Optimizer",
)
_OPTIMIZERS = frozenset(OPTIMIZERS)


def is_optimizer_class(names: Collection[str]) -> bool:
    """Whether a class is one of an optimizer, by its own name and those of the classes that it is made of."""
    return bool(names) and (not _OPTIMIZERS.isdisjoint(names) or any(map(_is_addon_optimizer, names)))


def _makes_a_layer(module: Module, call: ast.Call) -> bool:
    return (module.names.of(call.func) or "").startswith("tensorflow.keras.layers.")


def _is_addon_optimizer(name: str) -> bool:
    """Optimizers outside TensorFlow proper: its add-ons, its old contrib tree, Google's model garden."""
    return (
        name.startswith(
            ("tensorflow_addons.optimizers.", "tensorflow.contrib.opt.", "tensorflow.contrib.optimizer_v2.")
        )
        and name.rsplit(".", 1)[-1][:1].isupper()
        and catalogue.cls(name) is None
    )
