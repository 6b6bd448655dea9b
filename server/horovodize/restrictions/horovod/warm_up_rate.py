"""HVD310 warm-up-rate: a warm-up must end at the rate that the optimizer has.

## What it protects
`LearningRateWarmupCallback` starts at `initial_lr` divided by size(), and ends at `initial_lr`. It sets the optimizer's rate,
so given the rate of one process, it takes back the scaling of the optimizer, for the rest of the training.

## When it is reported
On a constant `initial_lr` of `LearningRateWarmupCallback` or `LearningRateScheduleCallback` where the wrapped optimizer's rate
is multiplied by size(). Also, as information and once in a file, on one without `initial_lr`: Horovod requires it since
0.21.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
warm_up = hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.01, warmup_epochs=3)  # HVD310
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
warm_up = hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=3)  # HVD310
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
warm_up = hvd.callbacks.LearningRateWarmupCallback(initial_lr=rate, warmup_epochs=3)
```

## Source
`_keras/callbacks.py` of Horovod 0.28.1; Horovod's pull requests 88 and 2459.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import argument, has_unpacking


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    scaled = [rate for wrapper in use.wrapped for rate in use.rates(wrapper) if use.factor(rate) == 1]
    calls = use.calls("LearningRateWarmupCallback", "LearningRateScheduleCallback")
    missing = [call for call in calls if argument(call, "initial_lr", 0) is None and not has_unpacking(call)]
    if missing:
        yield RESTRICTION.at(
            context,
            missing[0],
            "Horovod requires `initial_lr` here since 0.21: give it the scaled rate of the optimizer",
            severity=Severity.INFORMATION,
            related=[context.related(call, "here, too") for call in missing[1:]],
        )
    for call in calls:
        initial = argument(call, "initial_lr", 0)
        if initial is not None and scaled and use.factor(initial) == 0:
            yield RESTRICTION.at(
                context,
                call,
                "this sets the rate of one process, and takes back the scaling of the optimizer: give it the scaled rate",
                related=[context.related(scaled[0], "the scaled rate")],
            )


RESTRICTION = Restriction(
    "HVD310",
    "warm-up-rate",
    "a warm-up must end at the rate that the optimizer has",
    Severity.WARNING,
    __doc__ or "",
    find,
)
