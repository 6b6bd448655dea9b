"""HVD325 schedule-not-divided: a schedule should end with the steps of a rank.

## What it protects
Nothing fails. A schedule counts steps, and a rank takes 1/size() of them: one that is to end with the training has then gone
1/size() of its way. A cosine over all steps stays near its first rate on eight ranks, and a boundary after 80 % of the steps
never comes.

## When it is reported
On `decay_steps` and `boundaries` of a schedule that are made without size(), on what a schedule of the script's own compares
the step with or divides it by, and on the part that an average of weights keeps in each step (`0.999`), where the script
divides by size() the steps of an epoch of a `fit`, the turns of a loop (`take(n // hvd.size())`, or a `range` of them), the
steps of a `StopAtStepHook` or of an Estimator.

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

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rate = tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), 1000)  # HVD325
optimizer = tf.keras.optimizers.SGD(rate)
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(1000 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.001 * hvd.size(), step, 5000, 0.9)  # HVD325
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(rate)).minimize(loss, global_step=step)
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=20000 // hvd.size())]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
steps = 1000 // hvd.size()
optimizer = tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), steps))
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(steps):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

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

from horovodize.python.syntax import argument, is_one
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.averages_by_step import decays
from horovodize.restrictions.horovod.counts_of_schedules import own_counts
from horovodize.restrictions.horovod.made_without_ranks import is_divided_only, is_of_one
from horovodize.restrictions.horovod.mending import BINDING_TIGHTER, horovod
from horovodize.restrictions.horovod.numbers_of_steps import of_hooks, of_loop
from horovodize.restrictions.horovod.rate_not_scaled import averaging
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary import TrainingLoop

_SCHEDULES = "tensorflow.keras.optimizers.schedules."
_COUNTS = {  # what counts steps, and where it stands
    "ExponentialDecay": ("decay_steps", 1),
    "CosineDecay": ("decay_steps", 1),
    "CosineDecayRestarts": ("first_decay_steps", 1),
    "PolynomialDecay": ("decay_steps", 1),
    "InverseTimeDecay": ("decay_steps", 1),
    "PiecewiseConstantDecay": ("boundaries", 0),
}
_LIMIT = 200
_OF_GRAPHS = "tensorflow.compat.v1.train."
_COUNTS_OF_GRAPHS = {
    "exponential_decay": ("decay_steps", 2),
    "natural_exp_decay": ("decay_steps", 2),
    "inverse_time_decay": ("decay_steps", 2),
    "polynomial_decay": ("decay_steps", 2),
    "cosine_decay": ("decay_steps", 2),
    "linear_cosine_decay": ("decay_steps", 2),
    "cosine_decay_restarts": ("first_decay_steps", 2),
    "piecewise_constant": ("boundaries", 1),
    "piecewise_constant_decay": ("boundaries", 1),
}


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    divided = [
        *(steps for fit in context.sites.fits if (steps := _divided_steps(context, fit.call)) is not None),
        *_divided_turns(context),
        *(steps for steps in of_hooks(context) if use.factor(steps) == -1),
        *(
            steps
            for training in context.sites.read_estimators.trainings
            if (steps := training.steps or training.max_steps) is not None
            and (use.factor(steps) == -1 or is_divided_only(context, steps))
        ),
    ]
    if not divided:
        return
    yield from _by_own_counts(context, divided[0])
    rates = [rate for _, given in averaging(context) for rate in given]
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


def _by_own_counts(context: Context, divided: ast.expr) -> Iterator[Violation]:
    """Schedules of the script's own, and averages that forget by the step."""
    rates = [rate for _, given in averaging(context) for rate in given]
    counts = [count for rate in rates for count in own_counts(context, rate) if not is_one(count)]
    told = set[str]()
    for count in counts:
        if context.text(count) not in told and is_of_one(context, count) and not _is_none(count):
            told.add(context.text(count))
            yield RESTRICTION.at(
                context,
                count,
                f"`{context.text(count)}` counts the steps of one process, and a rank takes 1/size() of them: consider it "
                "divided by `hvd.size()`",
                related=[context.related(divided, "the steps of a rank")],
            )
    for decay in decays(context):
        if is_of_one(context, decay):
            yield RESTRICTION.at(
                context,
                decay,
                "this average forgets by the steps of one process, and a rank takes 1/size() of them: consider it to the power "
                "of `hvd.size()`",
                related=[context.related(divided, "the steps of a rank")],
            )


def _is_none(count: ast.expr) -> bool:
    """Whether a count is nothing to divide: 0, or none."""
    return isinstance(count, ast.Constant) and not count.value


def _divided_steps(context: Context, fit: ast.Call) -> ast.expr | None:
    """The steps of an epoch, where they are divided by the number of ranks and the epochs aren't multiplied by it."""
    use = context.facts.horovod
    steps, epochs = argument(fit, "steps_per_epoch"), argument(fit, "epochs")
    if not use.runs(fit) or (epochs is not None and use.depends_on(epochs, "size", "local_size")):
        return None
    if steps is not None:
        return steps if use.depends_on(steps, "size") else None
    data = argument(fit, "x", 0)
    return data if data is not None and _is_dealt(context, data) else None


def _is_dealt(context: Context, data: ast.expr) -> bool:
    """Whether a rank goes through its share of some data only: by `shard`, or every size()-th row of them, and only once."""
    use, parts = context.facts.horovod, list(context.values.depends([data], _LIMIT))
    again = any(isinstance(n, ast.Call) and context.names.last(n.func) == "repeat" for n in parts)
    return not again and any(
        (isinstance(n, ast.Slice) and n.step is not None and use.is_call(n.step, "size"))
        or (
            isinstance(n, ast.Call)
            and context.names.last(n.func) == "shard"
            and (number := argument(n, "num_shards", 0)) is not None
            and use.is_call(number, "size")
        )
        for n in parts
    )


def _divided_turns(context: Context) -> Iterator[ast.expr]:
    """The turns of loops that are divided by the number of ranks, where those of no loop around are multiplied by it."""
    use = context.facts.horovod
    for training in context.loops:
        numbers = [number for _, number in of_loop(context, training) if number is not None]
        with_size = [n for n in numbers if use.depends_on(n, "size", "local_size")]
        if len(with_size) == 1 and use.factor(with_size[0]) == -1 and use.runs(training.node):
            yield with_size[0]
        elif not with_size and use.runs(training.node):
            yield from _by_stride(context, training)


def _by_stride(context: Context, training: TrainingLoop) -> list[ast.expr]:
    """What the loop around a step goes through, if that is every size()-th of some numbers or batches."""
    loops = [loop for loop, _ in of_loop(context, training)]
    if not loops or not isinstance(loops[0], ast.For):
        return []
    through = loops[0].iter
    dealt = any(
        isinstance(n, ast.Slice) and n.step is not None and context.facts.horovod.is_call(n.step, "size")
        for n in context.values.depends([through], _LIMIT)
    )
    return [through] if dealt else []


def _count(context: Context, schedule: ast.Call) -> ast.expr | None:
    """What a schedule counts steps by; None of anything else."""
    name = context.names.of(schedule.func) or ""
    for module, counts in ((_SCHEDULES, _COUNTS), (_OF_GRAPHS, _COUNTS_OF_GRAPHS)):
        word, at = counts.get(name.removeprefix(module), ("", 0))
        if word and name.startswith(module):
            count = argument(schedule, word, at)
            return context.facts.horovod.parameter_of_estimator(count) if count is not None else None
    return None


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
