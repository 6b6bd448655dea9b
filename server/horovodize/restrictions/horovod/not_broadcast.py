"""HVD306 not-broadcast: all ranks must start with the same weights.

## What it protects
Each process draws weights of its own. Averaged gradients keep the difference: ranks train different models, and each gets the
gradients of the others.

## When it is reported
On the first loop that trains, in a script that shows all of itself, averages gradients, and neither broadcasts anything nor
sets a seed nor loads weights.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y)  # HVD306
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y)
```

## Source
Horovod's guide for TensorFlow, step 6.

"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.facts.horovod_use import TAPES, WRAPPERS
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

# Whatever bears such a name may give all ranks the same weights.
_SAME = (
    "roadcast",
    "load_",
    "set_weights",
    "restore",
    "seed",
    "Checkpoint(",
    "assign",
    "elastic",
    "allgather",
)


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not context.loops or not use.calls(*WRAPPERS, *TAPES) or not use.is_whole:
        return
    named = set(context.module.loads) | {k.arg or "" for c in context.syntax.calls for k in c.keywords}
    if any(part.rstrip("(") in name for name in named for part in _SAME):
        return
    loop = context.loops[0]
    if not use.runs(loop.node) or context.facts.rank_tests.may_be_guarded(loop.node):
        return
    yield RESTRICTION.at(
        context,
        loop.node,
        "ranks start with different weights, and go on with different ones: broadcast rank 0's, with "
        "`hvd.callbacks.BroadcastGlobalVariablesCallback(0)`, `hvd.BroadcastGlobalVariablesHook(0)` or, after the first step, "
        "`hvd.broadcast_variables`",
    )


RESTRICTION = Restriction(
    "HVD306",
    "not-broadcast",
    "all ranks must start with the same weights",
    Severity.WARNING,
    __doc__ or "",
    find,
)
