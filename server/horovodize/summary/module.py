"""One module, read: its syntax, scopes, names and values, in the order in which each needs the one before."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property

from horovodize import catalogue
from horovodize.source import Document, Span
from horovodize.summary.links import Targets
from horovodize.summary.names import Names
from horovodize.summary.scopes import Scopes
from horovodize.summary.syntax import Syntax
from horovodize.summary.values import Values

_TENSORFLOW = ("tensorflow", "keras", "tf_keras")
_WHOLE = ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2")


class Module:
    """The meaning of a document that parses; of a project, with the modules that its script imports."""

    def __init__(
        self, document: Document, imported: Sequence[ast.Module] = (), targets: Targets | None = None
    ) -> None:
        assert document.tree is not None
        self.document = document
        self.tree = document.tree
        self.syntax = Syntax(document.tree, imported)
        self.scopes = Scopes(self.syntax, targets)
        self.names = Names(self.scopes)
        self.values = Values(self.syntax, self.scopes, self.names)

    @cached_property
    def tensorflow_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The statements that import TensorFlow or Keras, in order."""
        found: list[ast.Import | ast.ImportFrom] = []
        for node in self.syntax.nodes:
            if isinstance(node, ast.Import):
                if any(a.name.split(".")[0] in _TENSORFLOW for a in node.names):
                    found.append(node)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                if (node.module or "").split(".")[0] in _TENSORFLOW:
                    found.append(node)
        return found

    @cached_property
    def imported(self) -> set[str]:
        """Dotted paths of everything that is imported, as written."""
        return {b.imported for b in self.scopes.imports} | {base for base, _ in self.scopes.star_imports}

    def imports(self, *roots: str) -> bool:
        """Whether any of these packages (or something in them) is imported."""
        return any(path == root or path.startswith(root + ".") for path in self.imported for root in roots)

    def calls_of(self, *names: str) -> list[ast.Call]:
        """The calls of functions or classes with these canonical names."""
        wanted = set(names)
        return [c for c in self.syntax.calls if self.names.of(c.func) in wanted]

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

    def is_optimizer(self, call: ast.Call) -> bool:
        """Whether a call constructs an optimizer that has a learning rate of its own, or wraps one."""
        made = self.values.made_by(call)
        return any(base in made for base in OPTIMIZERS) or any(_is_addon_optimizer(n) for n in made)


OPTIMIZERS = (
    "tensorflow.keras.optimizers.Optimizer",
    "tensorflow.keras.optimizers.legacy.Optimizer",
    "tensorflow.compat.v1.train.Optimizer",
)


def _is_addon_optimizer(name: str) -> bool:
    """Optimizers outside TensorFlow proper: its add-ons, its old contrib tree, Google's model garden."""
    return (
        name.startswith(
            ("tensorflow_addons.optimizers.", "tensorflow.contrib.opt.", "tensorflow.contrib.optimizer_v2.")
        )
        and name.rsplit(".", 1)[-1][:1].isupper()
        and catalogue.cls(name) is None
    )
