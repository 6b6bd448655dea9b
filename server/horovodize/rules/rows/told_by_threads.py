"""Sequences that Keras reads by several workers: part of K4.

`fit(sequence, workers=4)` reads ahead in a thread. When that has read all batches, it tells the sequence that an epoch ends, as
`fit` does itself a moment later: by how fast a rank is, `on_epoch_end` runs once or twice. A sequence that shuffles there would
get another order on each rank, and the parts that the ranks take of it would overlap. So what deals out a sequence listens only
to the thread that made it, that of `fit`; what the other has read after the end of an epoch, Keras throws away. (Keras 2, and 3
up to 3.4; later ones have no such thread.)
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.python.unpacking import unpacks
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.heard_ends import MODULE
from horovodize.rules.numbers.shares import feeding
from horovodize.summary.feeding import Kind


def listen_to_fit(draft: Draft) -> None:
    """Notes that what deals out sequences has to know the thread of `fit`, where that may read by several workers."""
    if draft.in_graph or keras_session.is_wanted(draft) or MODULE in draft.stream:
        return  # before TensorFlow 2.2 that thread alone tells it, once an epoch
    if draft.keras_3:  # a data set is told itself how it is read
        ahead = any(_names_workers(call) for call in draft.syntax.calls)
    else:
        fits = (fed.fit.call for fed in feeding(draft).fits if fed.kind is not Kind.DATASET)
        ahead = any(_names_workers(call) or unpacks(call) for call in fits)
    if ahead:
        draft.stream[MODULE] = draft.needed_module(MODULE)


def _names_workers(call: ast.Call) -> bool:
    """Whether a call is told of several workers, or of processes: `workers=4`"""
    workers, processes = argument(call, "workers"), argument(call, "use_multiprocessing")
    several = workers is not None and not (isinstance(workers, ast.Constant) and workers.value in (0, 1))
    apart = processes is not None and not (isinstance(processes, ast.Constant) and not processes.value)
    return several or apart


__all__ = ["listen_to_fit"]
