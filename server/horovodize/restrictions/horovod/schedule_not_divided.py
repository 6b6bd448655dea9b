"""HVD325 schedule-not-divided: a schedule should end with the steps of a rank.

## What it protects
Nothing fails. A schedule counts steps, and a rank takes 1/size() of them: one that is to end with the training has then gone
1/size() of its way. A cosine over all steps stays near its first rate on eight ranks, and a boundary after 80 % of the steps
never comes.

## When it is reported
On `decay_steps` and `boundaries` of a wrapped optimizer's schedule that are made without size(), where the script divides the
steps of an epoch by size().

## Quick fix
Divide the number by `size()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
steps, epochs = 1000, 10
rate = tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), steps * epochs)  # HVD325
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=steps // hvd.size(), epochs=epochs, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rates = [0.1 * hvd.size(), 0.01 * hvd.size()]
rate = tf.keras.optimizers.schedules.PiecewiseConstantDecay([8000], rates)  # HVD325
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=1000 // hvd.size(), epochs=10, callbacks=callbacks)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
steps, epochs = 1000 // hvd.size(), 10
rate = tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), steps * epochs)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=steps, epochs=epochs, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
steps = 1000 // hvd.size()
epochs = 10 * hvd.size()
rate = tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), 10000)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=steps, epochs=epochs, callbacks=callbacks)
```

## Source
Horovod's guide for Keras (`steps_per_epoch=500 // hvd.size()`); Keras' documentation of its schedules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import BINDING_TIGHTER, horovod
from horovodize.restrictions.horovod.steps_not_divided import is_of_one
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.syntax import argument

_SCHEDULES = "tensorflow.keras.optimizers.schedules."
_COUNTS = {  # what counts steps, and where it stands
    "ExponentialDecay": ("decay_steps", 1),
    "CosineDecay": ("decay_steps", 1),
    "CosineDecayRestarts": ("first_decay_steps", 1),
    "PolynomialDecay": ("decay_steps", 1),
    "InverseTimeDecay": ("decay_steps", 1),
    "PiecewiseConstantDecay": ("boundaries", 0),
}


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    divided = [
        steps for fit in context.sites.fits if (steps := _divided_steps(context, fit.call)) is not None
    ]
    if not divided:
        return
    rates = [rate for wrapper in use.wrapped for rate in use.rates(wrapper)]
    for schedule in dict.fromkeys(call for rate in rates for call in context.values.calls(rate)):
        count = _count(context, schedule)
        if count is not None and is_of_one(context, count):
            yield RESTRICTION.at(
                context,
                schedule,
                f"`{context.text(count)}` counts the steps of one process, and a rank takes 1/size() of them: consider it "
                "divided by `hvd.size()`",
                related=[context.related(divided[0], "the steps of a rank")],
                fixes=[_fix(context, count)],
            )


def _divided_steps(context: Context, fit: ast.Call) -> ast.expr | None:
    """The steps of an epoch, where they are divided by the number of ranks and the epochs aren't multiplied by it."""
    use = context.facts.horovod
    steps, epochs = argument(fit, "steps_per_epoch"), argument(fit, "epochs")
    if steps is None or not use.runs(fit) or not use.depends_on(steps, "size"):
        return None
    return None if epochs is not None and use.depends_on(epochs, "size", "local_size") else steps


def _count(context: Context, schedule: ast.Call) -> ast.expr | None:
    """What a schedule counts steps by; None of anything else."""
    name = context.names.of(schedule.func) or ""
    word, at = _COUNTS.get(name.removeprefix(_SCHEDULES), ("", 0))
    return argument(schedule, word, at) if word and name.startswith(_SCHEDULES) else None


def _fix(context: Context, count: ast.expr) -> Fix | None:
    name = horovod(context)
    if name is None:
        return None
    span = context.module.span(count)
    if isinstance(count, (ast.List, ast.Tuple)):
        edits = Edit.around(span, "[step // " + f"{name}.size() for step in ", "]")
    elif isinstance(count, BINDING_TIGHTER):
        edits = Edit.around(span, "max(1, ", f" // {name}.size())")
    else:
        edits = Edit.around(span, "max(1, (", f") // {name}.size())")
    return Fix("Divide it by the number of ranks", edits)


RESTRICTION = Restriction(
    "HVD325",
    "schedule-not-divided",
    "a schedule should end with the steps of a rank",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
