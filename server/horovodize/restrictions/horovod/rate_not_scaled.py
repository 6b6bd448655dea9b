"""HVD308 rate-not-scaled: the learning rate should grow with the number of ranks.

## What it protects
Nothing goes wrong. With N ranks a step averages N batches, and an epoch has 1/N of the steps; at the rate of one process the
model learns less in an epoch. Horovod's guide multiplies the rate by size(); with adaptive optimizers a smaller factor may be
better.

## When it is reported
On a wrapped optimizer whose rate is a constant, in a script that uses size() for nothing at all.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")  # HVD308
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
batch = 256 // hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
```

## Source
Horovod's guide for TensorFlow, step 3; Horovod's issues 127 and 114.

"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.is_whole or context.module.loads.get("size") or context.module.loads.get("local_size"):
        return
    for wrapper in use.wrapped:
        rates = list(use.rates(wrapper))
        constant = [o for rate in rates for o in context.values.origins(rate)]
        if (
            rates
            and use.runs(wrapper)
            and all(isinstance(o.node, ast.Constant) and not o.path for o in constant)
        ):
            yield RESTRICTION.at(
                context,
                wrapper,
                "the rate is that of one process, while a step takes the rows of all: consider the rate times `hvd.size()`",
                related=[context.related(rates[0], "the rate")],
            )


RESTRICTION = Restriction(
    "HVD308",
    "rate-not-scaled",
    "the learning rate should grow with the number of ranks",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
