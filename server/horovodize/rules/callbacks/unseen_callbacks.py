"""Callbacks that are picked at run time, by names of a configuration or from a registry: part of K3.

    callbacks = [REGISTRY[name](config) for name in config.callbacks]

Which of them write files can't be seen, but where the program makes such, those are left out on other ranks when the list is
there: by their class."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.rules.callbacks.callback_lists import elements
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

HELPER = "own_callbacks"
_WRITERS = tuple(
    f"tensorflow.keras.callbacks.{name}" for name in ("CSVLogger", "ModelCheckpoint", "TensorBoard")
)
_CALLBACKS = "tensorflow.keras.callbacks"


def is_unseen(draft: Draft, element: ast.expr) -> bool:
    """Whether it can't be seen what an element of a list is made by."""
    nodes = [o.node for o in draft.values.origins(element)]
    return not any(isinstance(n, ast.Call) and _is_known(draft, n) for n in nodes)


def leave_out(draft: Draft, given: ast.expr, lists: Iterable[ast.expr]) -> tuple[str, list[Edit]]:
    """(what a list is passed through, the changes of its elements): what leaves writers to rank 0, where a program makes some
    that it picks at run time.

    lists: those of all `fit`s"""
    unseen = [e for e in elements(draft, given) if is_unseen(draft, e)]
    if not unseen or not _makes_writers(draft, lists):
        return "", []
    if not isinstance(given, (ast.List, ast.Tuple)):
        return draft.helper(HELPER), []
    edits = list[Edit]()
    for element in unseen:
        parent, span = draft.syntax.parent[element], draft.module.span(element)
        if parent is given:
            edits += Edit.around(span, f"*{draft.helper(HELPER)}([", "])")
        elif isinstance(parent, ast.Starred) and draft.syntax.parent[parent] is given:
            edits += Edit.around(span, f"{draft.helper(HELPER)}(", ")")
    return "", edits


def _is_known(draft: Draft, made: ast.Call) -> bool:
    """Whether a class makes it that is known, or of this program."""
    return draft.names.of(made.func) is not None or isinstance(draft.values.callee(made), ast.ClassDef)


def _makes_writers(draft: Draft, lists: Iterable[ast.expr]) -> bool:
    """Whether the program names classes that write, or takes any of Keras' by name, beside those that are seen in lists."""
    seen = {o.node for given in lists for e in elements(draft, given) for o in draft.values.origins(e)}
    for n in draft.syntax.every(ast.Name, ast.Attribute):
        if (
            isinstance(n.ctx, ast.Load)
            and draft.names.of(n) in _WRITERS
            and draft.syntax.parent[n] not in seen
        ):
            return True
    return any(
        isinstance(c.func, ast.Name) and c.func.id == "getattr" and c.args
        and draft.names.of(c.args[0]) == _CALLBACKS
        for c in draft.syntax.calls
    )  # fmt: skip


__all__ = ["HELPER", "is_unseen", "leave_out"]
