"""HVD318 name-by-rank: a collective must have the same name on every rank.

## What it protects
Horovod brings together what has the same name. Ranks whose collectives are named differently wait for each other forever.

## When it is reported
On a `name` of a collective that is made of the rank.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
total = hvd.allreduce(tf.constant(1.0), name=f"loss-{hvd.rank()}")  # HVD318
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
total = hvd.allreduce(tf.constant(1.0 * hvd.rank()), name=f"loss-of-{hvd.size()}")
```

## Source
Horovod's guide on tensor fusion and the stall inspector.
"""

from __future__ import annotations

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
        if name is not None and argument(call, "process_set") is None:
            if use.depends_on(name, "rank", "local_rank", "cross_rank", limit=60):
                yield RESTRICTION.at(
                    context,
                    name,
                    "ranks name this differently, and wait for each other forever: leave the rank out of the name",
                )


RESTRICTION = Restriction(
    "HVD318",
    "name-by-rank",
    "a collective must have the same name on every rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
