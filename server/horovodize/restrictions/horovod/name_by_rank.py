"""HVD318 name-by-rank: a collective must have the same name on every rank.

## What it protects
In a graph, Horovod brings together what has the same name: ranks whose collectives are named differently wait for each other
forever. Executed eagerly, and in Horovod's modules for Keras, a collective goes by other names, and its own does nothing.

## When it is reported
On a `name` of a collective of `horovod.tensorflow` that is made of the rank, in a `tf.function` or a TensorFlow 1 graph.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

@tf.function
def total(loss):
    return hvd.allreduce(loss, name=f"loss-{hvd.rank()}")  # HVD318

hvd.init()
print(total(tf.constant(1.0)))
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

@tf.function
def total(loss):
    return hvd.allreduce(loss * hvd.rank(), name=f"loss-of-{hvd.size()}")

hvd.init()
print(total(tf.constant(1.0)))
print(hvd.allreduce(tf.constant(1.0), name=f"loss-{hvd.rank()}"))
```

## Source
Horovod's guide on the stall inspector; seen with Horovod 0.28.1 and TensorFlow 2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod_use import COLLECTIVES
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import argument


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for call in use.calls(*COLLECTIVES):
        name = argument(call, "name")
        if name is not None and argument(call, "process_set") is None and _goes_by_name(context, call):
            if use.depends_on(name, "rank", "local_rank", "cross_rank", limit=60):
                yield RESTRICTION.at(
                    context,
                    name,
                    "ranks name this differently, and wait for each other forever: leave the rank out of the name",
                )


def _goes_by_name(context: Context, call: ast.Call) -> bool:
    """Whether a collective is known by its own name: an operation of a graph is."""
    if ".keras." in context.facts.horovod.name_of(call):
        return False
    traced = any(context.drive.runs_traced(way) >= 0 for way in context.ways(call))
    return traced or bool(context.sites.sessions)


RESTRICTION = Restriction(
    "HVD318",
    "name-by-rank",
    "a collective must have the same name on every rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
