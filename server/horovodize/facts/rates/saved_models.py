"""Whether a model that is loaded is one that this program saves: what its rate was when it was saved depends on that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.sites import Sites

_SAVERS = ("tensorflow.keras.models.save_model", "tensorflow.keras.saving.save_model")
_PACKAGE = re.compile(r"\b(tf|tensorflow)(\.\w+)*\.keras$")
_CHECKPOINT = "tensorflow.keras.callbacks.ModelCheckpoint"


class Saved(Enum):
    """Who saved a model that is loaded."""

    HERE = "this program saves models in this file"
    ELSEWHERE = "this program saves no model in this file"
    UNKNOWN = "this program saves models, perhaps in this file"


def saved_by(module: Module, sites: Sites, path: ast.expr | None) -> Saved:
    """Who saved what is loaded from a path."""
    written = list(_paths(module, sites))
    if not written:
        return Saved.ELSEWHERE
    if path is None or None in written:
        return Saved.UNKNOWN
    loaded = _told(module, path)
    saved = [_told(module, p) for p in written if p is not None]
    if any(loaded & s for s in saved):
        return Saved.HERE
    fixed = _is_fixed(module, path) and all(_is_fixed(module, p) for p in written if p is not None)
    return Saved.ELSEWHERE if fixed else Saved.UNKNOWN


def saves_models(module: Module, sites: Sites) -> bool:
    """Whether whole models are saved, with the configuration of what trains them."""
    return any(True for _ in _paths(module, sites))


def _paths(module: Module, sites: Sites) -> Iterator[ast.expr | None]:
    """Where whole models are saved; None for what is not seen."""
    for call in sites.method_calls("save"):
        yield argument(call, "filepath", 0)
    for call in module.calls_of(*_SAVERS):
        yield argument(call, "filepath", 1)
    for call in module.calls_of(_CHECKPOINT):
        only_weights = argument(call, "save_weights_only", 4)
        if not (isinstance(only_weights, ast.Constant) and only_weights.value is True):
            yield argument(call, "filepath", 0)


def _told(module: Module, path: ast.expr) -> set[str]:
    """What a path may be, as it is written out and where it is made."""
    made = {
        ast.unparse(o.node)
        for o in module.values.origins(path)
        if not o.path and isinstance(o.node, ast.expr)
    }
    return {ast.unparse(path)} | made


def names_keras_files(module: Module) -> bool:
    """Whether a program names files of models in Keras' own format: `model.save("best.keras")`, by whatever way."""
    texts = [n.value for n in module.syntax.every(ast.Constant) if type(n.value) is str]
    return any(not _PACKAGE.search(text) for text in [t for t in texts if t.endswith(".keras")])


def _is_fixed(module: Module, path: ast.expr) -> bool:
    """Whether a path is written out, wherever its name is."""
    made = [o.node for o in module.values.origins(path)]
    return bool(made) and all(isinstance(n, ast.Constant) for n in made)


__all__ = ["Saved", "names_keras_files", "saved_by", "saves_models"]
