"""HVD318 name-by-rank: a collective must have the same name on every rank.

## What it protects
In a graph, Horovod brings together what has the same name: ranks whose collectives are named differently wait for each other
forever. Executed eagerly, a collective goes by other names, and its own does nothing.

## When it is reported
On a `name` of a collective of `horovod.tensorflow` that is made of the rank, or of what else differs between processes (a
host's name, a process's number, the time), in a `tf.function` or a TensorFlow 1 graph; of those of Horovod's modules for Keras,
in such a graph. A name that two collectives of a graph
share is no fault: TensorFlow gives each operation a name of its own.

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

```python
import os
import tensorflow as tf
import horovod.tensorflow as hvd

@tf.function
def total(loss):
    return hvd.allreduce(loss, name=f"loss-{os.getpid()}")  # HVD318

hvd.init()
print(total(tf.constant(1.0)))
```

```python
import tensorflow.compat.v1 as tf
import horovod.keras as hvd
from keras import backend as K

hvd.init()
K.set_session(tf.Session())
first = hvd.broadcast(first, 0, name="first-%d" % hvd.rank())  # HVD318
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
first = hvd.broadcast(first, 0, name="first-%d" % hvd.rank())
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

@tf.function
def totals(a, b):
    return hvd.allreduce(a, name="loss"), hvd.allreduce(b, name="loss")

hvd.init()
print(totals(tf.constant(1.0), tf.constant(2.0)))
```

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

from horovodize.facts.horovod.horovod_use import COLLECTIVES
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_OWN = ("os.getpid", "socket.gethostname", "socket.getfqdn", "platform.node", "uuid.uuid1", "uuid.uuid4", "time.time",
        "time.time_ns", "time.perf_counter")  # fmt: skip


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for call in use.calls(*COLLECTIVES):
        name = argument(call, "name")
        if name is not None and argument(call, "process_set") is None and _goes_by_name(context, call):
            if use.depends_on(name, "rank", "local_rank", "cross_rank", limit=60) or _is_of_a_process(
                context, name
            ):
                yield RESTRICTION.at(
                    context,
                    name,
                    "ranks name this differently, and wait for each other forever: leave out what differs between them",
                )


def _is_of_a_process(context: Context, name: ast.expr) -> bool:
    """Whether a name is made of what each process or host has of its own."""
    made = (n for n in context.values.depends([name], 60) if isinstance(n, ast.Call))
    return any(context.names.of(call.func) in _OWN for call in made)


def _goes_by_name(context: Context, call: ast.Call) -> bool:
    """Whether a collective is known by its own name: an operation of a graph is, and those of PyTorch are."""
    if context.facts.horovod.of_torch:
        return True
    if ".keras." in context.facts.horovod.name_of(call):
        return bool(context.sites.sessions)  # it names a constant, by which an operation of a graph is called
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
