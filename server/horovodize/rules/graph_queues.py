"""The queues of TensorFlow 1 that batches come from: `tf.train.slice_input_producer`, `tf.train.shuffle_batch`."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft

_QUEUES = (
    "batch",
    "shuffle_batch",
    "batch_join",
    "shuffle_batch_join",
    "string_input_producer",
    "slice_input_producer",
)
_FAR = 2000  # nodes that what a session runs is made of


def all_of(draft: Draft) -> list[ast.Call]:
    """All queues that a program makes."""
    return draft.module.calls_of(*(f"tensorflow.compat.v1.train.{name}" for name in _QUEUES))


def feed(draft: Draft, run: ast.Call) -> bool:
    """Whether what a session runs takes its rows from a queue: what it is fed with is no row."""
    queues = set[ast.AST](all_of(draft))
    return bool(queues) and any(n in queues for n in draft.values.depends(run.args[:1], _FAR))
