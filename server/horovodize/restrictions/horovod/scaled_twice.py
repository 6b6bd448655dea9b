"""HVD309 rate-scaled-twice: the learning rate must be multiplied by the number of ranks once.

## What it protects
Scaled twice, the rate grows with the square of the number of ranks: on 8 ranks it is 64 times the original, and training
diverges.

## When it is reported
On the rate of a wrapped optimizer, or of one that trains with a wrapped tape, which is multiplied by `size()` more than once
on its only way.

## Quick fix
Leave out a `* hvd.size()` that is written in the rate.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
optimizer = tf.keras.optimizers.SGD(rate * hvd.size())  # HVD309
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
rate *= hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")  # HVD309
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
if averages_by_itself:
    rate *= hvd.size()
rate /= hvd.size()
rate *= hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 / hvd.size() * hvd.size()
optimizer = tf.keras.optimizers.SGD(rate * hvd.size())
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

## Source
Horovod's guide for TensorFlow, step 3.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod_use import rates_of
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.mending import without_size
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if len(use.calls("size")) < 2:
        return
    for call in context.syntax.calls:
        for rate in rates_of(call):
            if not isinstance(rate, (ast.Constant, ast.List, ast.Tuple)) and context.module.is_optimizer(
                call
            ):
                first = first_rate(context, rate)
                if not use.name_of(call) and (use.factor(first) or 0) > 1:
                    yield RESTRICTION.at(
                        context,
                        first,
                        "this rate is multiplied by the number of ranks more than once: leave one of the factors out",
                        fixes=[_fix(context, first)] if use.factor(first) == 2 else [],
                    )


def _fix(context: Context, rate: ast.expr) -> Fix | None:
    edits = without_size(context, rate)
    return Fix("Multiply it once", edits) if edits else None


RESTRICTION = Restriction(
    "HVD309",
    "rate-scaled-twice",
    "the learning rate must be multiplied by the number of ranks once",
    Severity.WARNING,
    __doc__ or "",
    find,
)
