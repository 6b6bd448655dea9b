"""The queues of TensorFlow 1 that batches come from: `tf.train.slice_input_producer`, `tf.train.shuffle_batch`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.python.syntax import argument, says_none
from horovodize.rules.drafting.draft import Draft

_QUEUES = (
    "batch",
    "shuffle_batch",
    "batch_join",
    "shuffle_batch_join",
    "string_input_producer",
    "slice_input_producer",
)
_SEEDS = {"string_input_producer": 3, "slice_input_producer": 3, "shuffle_batch": 5, "shuffle_batch_join": 4}
_FAR = 2000  # nodes that what a session runs is made of


def all_of(draft: Draft) -> list[ast.Call]:
    """All queues that a program makes."""
    return draft.module.calls_of(*(f"tensorflow.compat.v1.train.{name}" for name in _QUEUES))


def feed(draft: Draft, run: ast.Call) -> bool:
    """Whether what a session runs takes its rows from a queue: what it is fed with is no row."""
    queues = set[ast.AST](all_of(draft))
    return bool(queues) and any(n in queues for n in draft.values.depends(run.args[:1], _FAR))


def seed(draft: Draft, queue: ast.Call) -> ast.expr | None:
    """The seed of its own that a queue shuffles by."""
    given = argument(queue, "seed", _SEEDS.get(draft.names.last(queue.func)))
    return None if given is None or says_none(given) else given


def trained_on(draft: Draft, queues: Iterable[ast.Call]) -> list[ast.Call]:
    """The queues that what is run for training is made of; all of them where none is seen to be."""
    runs = draft.sites.graph.trainings
    made_of = {n for run in runs for n in draft.values.depends(run.call.args[:1], _FAR)}
    every = list(queues)
    return [queue for queue in every if queue in made_of] or every
