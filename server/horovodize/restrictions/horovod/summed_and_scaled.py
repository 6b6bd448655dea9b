"""HVD317 summed-and-scaled: gradients that are summed must not meet a rate that grows with the number of ranks.

## What it protects
The sum of N gradients is N times their average. With a rate that is multiplied by size() as well, a step is N² times as long.
`Adasum` decides by itself how far to go, and takes the rate of one process.

## When it is reported
On a wrapper with `op=hvd.Sum` or `op=hvd.Adasum` around an optimizer whose rate is multiplied by size(), unless something is
divided by size().

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Sum)  # HVD317
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Sum)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Average)
```

## Source
Horovod's guides for TensorFlow, step 3, and for AdaSum.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import argument

_OPS = ("Sum", "Adasum")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for wrapper in use.wrapped:
        op = argument(wrapper, "op")
        name = context.names.of(op) if op is not None else None
        if (
            op is None
            or name is None
            or not name.startswith("horovod.")
            or context.names.last(op) not in _OPS
        ):
            continue
        scaled = [rate for rate in use.rates(wrapper) if use.factor(rate) == 1]
        if not scaled or _divides(context):
            continue
        yield RESTRICTION.at(
            context,
            wrapper,
            f"with `{context.text(op)}` the rate must not grow with the number of ranks as well: leave its `size()` "
            "out, or average",
            related=[context.related(scaled[0], "the rate")],
        )


def _divides(context: Context) -> bool:
    """Whether anything is divided by the number of ranks: a loss may be."""
    return any(
        isinstance(n.op, ast.Div) and context.facts.horovod.depends_on(n.right, "size", limit=50)
        for n in context.syntax.every(ast.BinOp)
    )


RESTRICTION = Restriction(
    "HVD317",
    "summed-and-scaled",
    "gradients that are summed must not meet a rate that grows with the number of ranks",
    Severity.WARNING,
    __doc__ or "",
    find,
)
