"""HVD305 wrapped-twice: an optimizer or a tape must be wrapped once.

## What it protects
`DistributedOptimizer` around a `DistributedOptimizer` of a Keras optimizer calls itself without end: `RecursionError`. Around
a graph's optimizer, and a tape around a tape, it sends all gradients twice; with `op=hvd.Sum` they also grow size() times.

## When it is reported
On a wrapper that is given something that surely is wrapped.

## Quick fix
Leave the second one out, where it is given nothing else.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
model.compile(hvd.DistributedOptimizer(optimizer), "mse")  # HVD305
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer)
model.compile(optimizer, "mse")
```

## Source
`_keras/__init__.py` of Horovod 0.28.1, which calls `super(self.__class__, self)`; seen with TensorFlow 2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.restrictions.aliased_member import whole_lines
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for names in (WRAPPERS, TAPES):
        for call in use.calls(*names):
            inner = use.inside(call)
            if inner is None:
                continue
            arrivals = [a.node for a in context.facts.optimizers.arrivals(inner)]
            if not all(use.is_call(node, *names) and node is not call for node in arrivals):
                continue
            yield RESTRICTION.at(
                context,
                call,
                f"`{context.text(inner)}` is wrapped by Horovod, and this wraps it again: leave one of the two out",
                related=[context.related(arrivals[0], "wrapped here first")],
                fixes=[_fix(context, call, inner)],
            )


def _fix(context: Context, call: ast.Call, inner: ast.expr) -> Fix | None:
    """Leaves a wrapper out that is given nothing but what it wraps."""
    if len(call.args) + len(call.keywords) != 1:
        return None
    statement = context.syntax.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        lines = whole_lines(context, statement)
        alike = [context.text(t) for t in statement.targets] == [context.text(inner)]
        if alike and lines is not None and len(context.syntax.block(statement)) > 1:
            return Fix("Wrap it once", (Edit(lines, ""),))
    return Fix("Wrap it once", (Edit(context.module.span(call), context.document.source(inner)),))


RESTRICTION = Restriction(
    "HVD305",
    "wrapped-twice",
    "an optimizer or a tape must be wrapped once",
    Severity.WARNING,
    __doc__ or "",
    find,
)
