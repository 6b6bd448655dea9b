"""Sequences of Keras' own over files or arrays, `generator.flow_from_directory(…)`: part of K4 and D3.

They shuffle by NumPy's global state, which they seed before each batch and draw from for each picture: after a first epoch the
orders of two ranks differ, seeded or not."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.summary.syntax import argument, has_unpacking

_FROM_FILES = ("flow_from_directory", "flow_from_dataframe")


def shuffles(draft: Draft, call: ast.Call) -> bool:
    """Whether a call makes such a sequence, and it shuffles: also where nothing says whether."""
    if not _is_of_keras(draft, call) or has_unpacking(call):
        return False
    shuffle = argument(call, "shuffle")
    return shuffle is None or (isinstance(shuffle, ast.Constant) and bool(shuffle.value))


def _is_of_keras(draft: Draft, call: ast.Call) -> bool:
    """Whether it is Keras' generator that flows; something else of another module may have a method `flow`."""
    if not isinstance(call.func, ast.Attribute) or draft.values.callee(call) is not None:
        return False
    made = {draft.names.last(c.func) for c in draft.values.calls(call.func.value)}
    return call.func.attr in _FROM_FILES or (call.func.attr == "flow" and made == {"ImageDataGenerator"})


def all_shuffle(draft: Draft, feed: ast.expr) -> bool:
    """Whether what `fit` gets is such a sequence, whatever makes it."""
    calls = draft.values.calls(feed)
    return bool(calls) and all(shuffles(draft, c) for c in calls)


__all__ = ["all_shuffle", "shuffles"]
