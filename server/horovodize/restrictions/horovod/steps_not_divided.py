"""HVD321 steps-not-divided: an epoch of several ranks has fewer steps.

## What it protects
Nothing goes wrong, and nothing is gained: with the steps of one process on each rank, N ranks go through N times the rows in an
epoch, which takes as long as before. What counts epochs (schedules, patience) then counts N times as much training.

## When it is reported
On the `steps_per_epoch` of a `fit` that is made without size(), where the rate grows by size(), over data without an end
(`repeat()`), and on the `steps` of an Estimator's training over such arrays (`num_epochs=None`).

## Quick fix
Divide the steps: `steps_per_epoch=steps // hvd.size()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().shuffle(1000).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, steps_per_epoch=100, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD321
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

def model(features, labels, mode):
    loss = tf.compat.v1.losses.mean_squared_error(labels, tf.compat.v1.layers.dense(features["x"], 1))
    optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.01 * hvd.size()))
    train = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

hvd.init()
estimator = tf.estimator.Estimator(model)
rows = tf.compat.v1.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=10, num_epochs=None, shuffle=True)
estimator.train(rows, steps=100, hooks=[hvd.BroadcastGlobalVariablesHook(0)])  # HVD321
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

def model(features, labels, mode):
    loss = tf.compat.v1.losses.mean_squared_error(labels, tf.compat.v1.layers.dense(features["x"], 1))
    optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.01 * hvd.size()))
    train = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

hvd.init()
estimator = tf.estimator.Estimator(model)
rows = tf.compat.v1.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=10, num_epochs=None, shuffle=True)
estimator.train(rows, steps=100 // hvd.size(), hooks=[hvd.BroadcastGlobalVariablesHook(0)])
once = tf.compat.v1.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=10, num_epochs=1, shuffle=True)
estimator.train(once, steps=100, hooks=[hvd.BroadcastGlobalVariablesHook(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().shuffle(1000).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, steps_per_epoch=100 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
epochs = -(-12 // hvd.size())
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().shuffle(1000).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=100, epochs=epochs, callbacks=callbacks)
```

## Source
Horovod's guide for Keras (`steps_per_epoch=500 // hvd.size()`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import BINDING_TIGHTER, horovod
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.pipeline_counts import is_endless_after
from horovodize.summary.syntax import argument, has_unpacking, is_one, says_none

_LIMIT = 200


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not any(use.factor(rate) == 1 for wrapper in use.wrapped for rate in use.rates(wrapper)):
        return
    yield from _fits(context)
    yield from _estimators(context)


def _estimators(context: Context) -> Iterator[Violation]:
    """The `steps` of an Estimator's training, over arrays that are repeated without end."""
    for training in context.sites.read_estimators.trainings:
        steps = training.steps or training.max_steps
        if steps is None or has_unpacking(training.call) or not is_of_one(context, steps) or is_one(steps):
            continue
        made = context.values.calls(training.input_fn) if training.input_fn is not None else []
        if not made or not all(_is_endless_input(context, call) for call in made):
            continue
        if context.facts.horovod.runs(training.call):
            word = "steps" if steps is training.steps else "max_steps"
            yield RESTRICTION.at(
                context,
                training.call,
                f"each rank does {context.text(steps)} steps, which takes as long as with one: consider `{word}` divided by "
                "`hvd.size()`",
                related=[context.related(steps, "the steps")],
                fixes=[_fix(context, steps)],
            )


def _is_endless_input(context: Context, call: ast.Call) -> bool:
    """Whether an input function gives arrays again and again, without end."""
    epochs = argument(call, "num_epochs", 3)
    endless = says_none(epochs)
    return context.names.last(call.func) in ("numpy_input_fn", "pandas_input_fn") and endless


def _fits(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for fit in context.sites.fits:
        steps, epochs = argument(fit.call, "steps_per_epoch"), argument(fit.call, "epochs")
        if steps is None or has_unpacking(fit.call) or not use.runs(fit.call):
            continue
        if any(e is not None and not is_of_one(context, e) for e in (steps, epochs)) or is_one(steps):
            continue
        data, pipelines = argument(fit.call, "x", 0), context.facts.feeding.kinds.pipelines
        if data is not None and is_endless_after(pipelines, fit.call, data):
            yield RESTRICTION.at(
                context,
                fit.call,
                f"each rank does the {context.text(steps)} steps of an epoch, which takes as long as with one: consider "
                "`steps_per_epoch` divided by `hvd.size()`",
                related=[context.related(steps, "the steps")],
                fixes=[_fix(context, steps)],
            )


def _fix(context: Context, steps: ast.expr) -> Fix | None:
    name = horovod(context)
    if name is None:
        return None
    before, after = ("", "") if isinstance(steps, BINDING_TIGHTER) else ("(", ")")
    edits = Edit.around(context.module.span(steps), before, f"{after} // {name}.size()")
    return Fix("Divide the steps among the ranks", edits)


def is_of_one(context: Context, number: ast.expr) -> bool:
    """Whether a number is surely made without the number of ranks: of constants, and what they are computed to."""
    nodes = list(context.values.depends([number], _LIMIT))
    if len(nodes) >= _LIMIT or context.facts.horovod.depends_on(number, "size", "local_size"):
        return False
    return all(
        not isinstance(n, ast.Call) or context.is_builtin(n.func, "int", "len", "round") for n in nodes
    ) and all(
        b.kind != "parameter" or context.values.passed(b)
        for n in nodes
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        for b in context.scopes.reaching(n)
    )


RESTRICTION = Restriction(
    "HVD321",
    "steps-not-divided",
    "an epoch of several ranks has fewer steps",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
