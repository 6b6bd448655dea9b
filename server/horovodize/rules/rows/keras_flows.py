"""Sequences of Keras' own over files or arrays, `generator.flow_from_directory(…)`: part of K4 and D3.

They shuffle by NumPy's global state, which they seed before each batch and draw from for each picture: after a first epoch the
orders of two ranks differ, seeded or not."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, has_unpacking
from horovodize.rules.drafting.draft import Draft

_FROM_FILES = ("flow_from_directory", "flow_from_dataframe")
_FLOWS = ("flow", *_FROM_FILES)


def shuffles(draft: Draft, call: ast.Call) -> bool:
    """Whether a call by such a name makes what shuffles, or may: also where nothing says whether."""
    if draft.names.last(call.func) not in _FLOWS or has_unpacking(call):
        return False
    shuffle = argument(call, "shuffle")
    return not (isinstance(shuffle, ast.Constant) and not shuffle.value)


def shuffles_unseeded(draft: Draft, call: ast.Call) -> bool:
    """Whether it does so by no seed, its own or NumPy's."""
    is_seeded = argument(call, "seed") is not None or draft.uniform.draws.is_seeded("numpy.random.")
    return shuffles(draft, call) and not is_seeded


def is_of_keras(draft: Draft, call: ast.Call) -> bool:
    """Whether it is a method of Keras' generator of images, not of something else that is called so."""
    held = draft.values.calls(call.func.value) if isinstance(call.func, ast.Attribute) else []
    names = [draft.names.of(c.func) or "" for c in held]
    return bool(names) and all("keras" in n and n.endswith(".ImageDataGenerator") for n in names)


def all_shuffle(draft: Draft, feed: ast.expr) -> bool:
    """Whether what `fit` gets is such a sequence, whatever makes it; an unseen generator is one where it reads files."""
    calls = draft.values.calls(feed)
    return bool(calls) and all(shuffles(draft, c) and _may_be_of_keras(draft, c) for c in calls)


def all_are_flows(draft: Draft, feed: ast.expr) -> bool:
    """The same, whether they shuffle or not."""
    calls = draft.values.calls(feed)
    return bool(calls) and all(
        draft.names.last(c.func) in _FLOWS and _may_be_of_keras(draft, c) for c in calls
    )


def _may_be_of_keras(draft: Draft, call: ast.Call) -> bool:
    unseen = draft.values.callee(call) is None and draft.names.last(call.func) in _FROM_FILES
    return unseen or is_of_keras(draft, call)


__all__ = ["all_are_flows", "all_shuffle", "is_of_keras", "shuffles", "shuffles_unseeded"]
