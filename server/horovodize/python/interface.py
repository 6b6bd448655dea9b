"""What a module is to the scripts that import it: what it imports itself, and whether what training takes is in it. Found out
once for each content, however many scripts import it; linking these says which of them need to be read together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from horovodize.source import Document
from horovodize.source.nodes import walk

_IMPORTS = (ast.Import, ast.ImportFrom)
_NAMING = (ast.Attribute, ast.Name, *_IMPORTS)
_TENSORFLOW = ("tensorflow", "keras", "tf_keras")
# Every training loop takes one of these names (`Sites`, `Graph` and the Estimators ask for them), in whatever module.
_OF_TRAINING = frozenset(
    {
        "fit", "fit_generator", "train_on_batch", "minimize", "apply_gradients", "GradientTape", "estimator", "TPUEstimator",
        "learn",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """What of one module concerns those that import it.

    imports     the modules that it may import, by the dotted paths as they are written, each once
    tensorflow  it imports TensorFlow or Keras
    trains      it has a name that training takes"""

    imports: tuple[str, ...]
    tensorflow: bool
    trains: bool

    @staticmethod
    def of(document: Document) -> Interface | None:
        """That of a file; None where it does not parse."""
        tree = document.tree
        if tree is None:
            return None
        imports, trains = dict[str, None](), False
        for node in walk(tree):
            if isinstance(node, _IMPORTS):
                imports.update(dict.fromkeys(_imported(node)))
            if not trains and isinstance(node, _NAMING):
                trains = not _OF_TRAINING.isdisjoint(_names(node))
        tensorflow = any(path.split(".", 1)[0] in _TENSORFLOW for path in imports)
        return Interface(tuple(imports), tensorflow, trains)


def may_train(interfaces: Iterable[Interface]) -> bool:
    """Whether modules may train together. Where they may not, there is no loop in them, whoever calls whom."""
    tensorflow = trains = False
    for interface in interfaces:
        tensorflow, trains = tensorflow or interface.tensorflow, trains or interface.trains
    return tensorflow and trains


def imported_paths(root: ast.AST) -> Iterator[str]:
    """The modules that a module (or a statement) may import, by the dotted path as it is written: of `from nets import
    model` also "nets.model"; with the packages that they are in."""
    for node in walk(root):
        yield from _imported(node)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _packages(alias.name)
            yield alias.name
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        if not node.level:
            yield from _packages(base)
        yield base
        for alias in node.names:
            if alias.name != "*":
                yield f"{base}{alias.name}" if base.endswith(".") else f"{base}.{alias.name}"


def _names(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return (name,)
        case ast.Import(names=names):
            return [part for alias in names for part in alias.name.split(".")]
        case ast.ImportFrom(module=module, names=names):
            return [part for path in (module or "", *(a.name for a in names)) for part in path.split(".")]
    return ()


def _packages(dotted: str) -> Iterator[str]:
    """The packages that a module is in, outermost first: importing it runs them."""
    for i, character in enumerate(dotted):
        if character == ".":
            yield dotted[:i]
