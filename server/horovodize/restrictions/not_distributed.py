"""HVD001 not-distributed: this training loop runs in one process and could be distributed.

## What it protects
Nothing: it is a hint, so that an editor offers **Distribute with Horovod** right at the loop.

## When it is reported
On every Keras and GradientTape loop of a file that uses neither Horovod nor another way to distribute, and in which no
restriction is broken for which distributing would be refused. `check` leaves it out unless it is selected.

## Quick fix
Distribute with Horovod.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)  # HVD001
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

model = tf.keras.models.load_model("model.h5")
print(model.predict(x))
```

## Source
Not a restriction of the seed: the place where its transformation is offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import TrainingLoop

RESTRICTION = Restriction(
    "HVD001",
    "not-distributed",
    "this training loop runs in one process and could be distributed",
    Severity.HINT,
    __doc__ or "",
)

# Rules refuse, most of the time, where a warning of these codes stands.
_REFUSED_BY_RULES = {"HVD101", "HVD108", "HVD201"}


def hints(context: Context, found: list[Violation]) -> Iterator[Violation]:
    """A hint on every loop that could be distributed, given what else was found, suppressed or not."""
    if not context.trains or len(context.loops) < len(context.summary.loops):
        return
    if any(v.severity is Severity.WARNING and (v.blocks or v.code in _REFUSED_BY_RULES) for v in found):
        return
    seen = set()
    for loop in context.loops:
        if loop.span not in seen:
            seen.add(loop.span)
            yield hint(loop)


def hint(loop: TrainingLoop) -> Violation:
    """The hint on a loop that can be distributed."""
    message = f"{loop.describe()}: it runs in one process and can be distributed with Horovod"
    return Violation(RESTRICTION.code, RESTRICTION.name, message, loop.span, RESTRICTION.severity)
