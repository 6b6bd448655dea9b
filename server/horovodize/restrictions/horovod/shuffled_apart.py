"""HVD319 shuffled-apart: ranks must divide the same order of rows.

## What it protects
`shard` takes every size()-th element. Where each rank has shuffled in an order of its own before, what one takes another may
have taken too: in each epoch about a third of the rows is not trained on, and others are trained on twice.

## When it is reported
On `shard` by size() and rank() after `shuffle`, or after `Dataset.list_files` that shuffles, without a seed. Not where the
script seeds TensorFlow.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shuffle(1000)
rows = rows.shard(hvd.size(), hvd.rank())  # HVD319
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
files = tf.data.Dataset.list_files("*.tfrecord")
files = files.shard(hvd.size(), hvd.rank())  # HVD319
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).shuffle(1000)
same = tf.data.Dataset.range(1000).shuffle(1000, seed=7).shard(hvd.size(), hvd.rank())
files = tf.data.Dataset.list_files("*.tfrecord", shuffle=False).shard(hvd.size(), hvd.rank())
```

## Source
TensorFlow's documentation of `Dataset.shard`; Horovod's issues 223 and 2623.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import argument

_SEEDS = ("set_seed", "set_random_seed")
_DEPTH = 30


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if any(context.module.loads.get(name) for name in _SEEDS):
        return
    for call in context.sites.method_calls("shard"):
        number, index = argument(call, "num_shards", 0), argument(call, "index", 1)
        if number is None or index is None or not use.depends_on(index, "rank", limit=60):
            continue
        shuffled = _shuffled_before(context, call)
        if shuffled is not None:
            yield RESTRICTION.at(
                context,
                call,
                "ranks divide orders of their own, so some rows are taken twice and others by none: divide before "
                "shuffling, or give the shuffle a seed",
                related=[context.related(shuffled, "each rank shuffles in its own order")],
            )


def _shuffled_before(context: Context, shard: ast.Call) -> ast.Call | None:
    """What shuffles without a seed before a pipeline is divided, on its only way."""
    call: ast.Call | None = shard
    for _ in range(_DEPTH):
        if call is None or not isinstance(call.func, ast.Attribute):
            return None
        if call is not shard and _shuffles(context, call):
            return call
        before = context.values.origins(call.func.value)
        call = before[0].call if len(before) == 1 else None
    return None


def _shuffles(context: Context, call: ast.Call) -> bool:
    name = context.names.last(call.func)
    if name == "shuffle":
        return argument(call, "seed", 1) is None
    if name == "list_files":
        asked = argument(call, "shuffle", 1)
        never = isinstance(asked, ast.Constant) and asked.value is False
        unsure = asked is not None and not (isinstance(asked, ast.Constant) and asked.value is True)
        return argument(call, "seed", 2) is None and not never and not unsure
    return False


RESTRICTION = Restriction(
    "HVD319",
    "shuffled-apart",
    "ranks must divide the same order of rows",
    Severity.WARNING,
    __doc__ or "",
    find,
)
