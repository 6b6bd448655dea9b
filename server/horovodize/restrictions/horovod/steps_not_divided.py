"""HVD321 steps-not-divided: an epoch of several ranks has fewer steps.

## What it protects
Nothing goes wrong, and nothing is gained: with the steps of one process on each rank, N ranks go through N times the rows in an
epoch, which takes as long as before. What counts epochs (schedules, patience) then counts N times as much training.

## When it is reported
On the `steps_per_epoch` of a `fit` that is made without size(), where the rate grows by size(), over data without an end
(`repeat()`, pictures that Keras' `flow_from_directory` or `flow` gives, a generator of the script's own that never ends), on
the `steps` of an Estimator's training over such data, on the number of turns of loops over such data (`take(n)`, or `range(n)`
around `next(batches)`, `while step < n` around draws), and on the steps after which a `StopAtStepHook` ends. On the `epochs`
of a `fit` to arrays, or a data set of arrays, that are surely the same on all ranks. On steps that are divided by
`local_size()`, and by nothing that knows of other hosts.

## Quick fix
Divide the steps: `steps_per_epoch=steps // hvd.size()`; `size()` for `local_size()`.

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

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().shuffle(1000).batch(10).take(500):  # HVD321
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
pictures = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255).flow_from_directory("train", batch_size=32)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(pictures, steps_per_epoch=len(pictures), epochs=9, callbacks=callbacks)  # HVD321
model.fit(pictures, steps_per_epoch=len(pictures) // hvd.size(), epochs=9, callbacks=callbacks)
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size()))
train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=20000)]  # HVD321
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=1000 // hvd.local_size(), callbacks=callbacks)  # HVD321
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
batches = iter(tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).repeat().batch(10))
for step in range(500 // hvd.size()):
    x = next(batches)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
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

from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import FUNCTIONS, argument, has_unpacking, is_one, says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import of_one_host
from horovodize.restrictions.horovod.alike_data import gone_through
from horovodize.restrictions.horovod.batches_alike import generators_of, is_alike, is_flow
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.made_without_ranks import is_of_one
from horovodize.restrictions.horovod.mending import BINDING_TIGHTER, horovod
from horovodize.restrictions.horovod.numbers_of_steps import is_range, of_hooks, of_loop
from horovodize.restrictions.horovod.rate_not_scaled import averaging
from horovodize.restrictions.horovod.rows_of_graphs import asked_of
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.pipeline_counts import is_endless_after
from horovodize.summary.site_kinds import Fit

_LIMIT = 200

_PARTING = ("take", "shard", "repeat", "skip", "from_generator", "choice", "sample", "permutation")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    yield from of_one_host.steps(context, RESTRICTION)
    if not any(use.most(first_rate(context, rate)) == 1 for _, rates in averaging(context) for rate in rates):
        return
    yield from _fits(context)
    yield from _estimators(context)
    yield from _loops(context)
    yield from _hooks(context)


def _loops(context: Context) -> Iterator[Violation]:
    """The turns of a loop whose steps take batches of data without an end."""
    for training in context.loops:
        loops = of_loop(context, training)
        if not loops or not context.facts.horovod.runs(training.node):
            continue
        if all(n is not None and is_of_one(context, n) and not is_one(n) for _, n in loops):
            loop, number = loops[0]
            if number is not None and _is_endless_loop(context, training.node, loop):
                yield _undivided(context, number, "the steps of the loop")


def _is_endless_loop(context: Context, step: ast.Call, loop: ast.AST) -> bool:
    """Whether a loop would go on without its number: it goes through a data set without an end, or takes its batches of one."""
    pipelines = context.facts.feeding.kinds.pipelines
    if isinstance(loop, ast.For) and not (isinstance(loop.iter, ast.Call) and is_range(context, loop.iter)):
        data = gone_through(context, loop.iter)
        return is_endless_after(pipelines, step, data) or _is_repeated(context, data)
    if context.facts.steps.of(step).feed is Feed.DRAW:
        return True
    made = [c for e in context.facts.steps.of(step).batches for c in asked_of(context, e)]
    return bool(made) and all(is_endless_after(pipelines, step, data) for data in made)


def _hooks(context: Context) -> Iterator[Violation]:
    """The step with which a `StopAtStepHook` ends a session."""
    for number in of_hooks(context):
        if is_of_one(context, number) and not is_one(number):
            yield _undivided(context, number, "the steps until it ends")


def _undivided(context: Context, number: ast.expr, what: str) -> Violation:
    return RESTRICTION.at(
        context,
        number,
        f"each rank does all of {what}, which takes as long as with one: consider them divided by `hvd.size()`",
        fixes=[_fix(context, number)],
    )


def _estimators(context: Context) -> Iterator[Violation]:
    """The `steps` of an Estimator's training, over arrays that are repeated without end."""
    for training in context.sites.read_estimators.trainings:
        steps = training.steps or training.max_steps
        if steps is None or has_unpacking(training.said) or not is_of_one(context, steps) or is_one(steps):
            continue
        if training.input_fn is None or not _is_endless_input_of(context, training.call, training.input_fn):
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


def _is_endless_input_of(context: Context, place: ast.Call, given: ast.expr) -> bool:
    """Whether what gives an Estimator its batches never ends: TensorFlow's functions of arrays, or one of the script's own,
    also one that another function makes."""
    values, pipelines = context.values, context.facts.feeding.kinds.pipelines
    made = values.calls(given)
    if made and all(_is_endless_input(context, call) for call in made):
        return True
    origins = [o.node for o in values.origins(given)]
    for call in made:
        if isinstance(maker := values.callee(call), FUNCTIONS):
            origins += [o.node for e in values.returned(maker) for o in values.origins(e)]
    given_by = [n for n in origins if isinstance(n, (*FUNCTIONS, ast.Lambda))]
    batches = [e for f in given_by for e in ([f.body] if isinstance(f, ast.Lambda) else values.returned(f))]
    return bool(batches) and all(
        is_endless_after(pipelines, place, e) or _is_repeated(context, e) for e in batches
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
        if steps is None and epochs is not None and _is_of_whole_arrays(context, fit, epochs):
            yield RESTRICTION.at(
                context,
                epochs,
                "each rank goes through all rows in each epoch, which takes as long as with one: give each its share of them, "
                "or consider `epochs` divided by `hvd.size()`",
            )
        if steps is None or has_unpacking(fit.call) or not use.runs(fit.call):
            continue
        if any(e is not None and not is_of_one(context, e) for e in (steps, epochs)) or is_one(steps):
            continue
        data, pipelines = argument(fit.call, "x", 0), context.facts.feeding.kinds.pipelines
        if data is not None and (
            is_endless_after(pipelines, fit.call, data)
            or _is_repeated(context, data)
            or is_flow(context, data)
            or _is_drawn_without_end(context, data)
        ):
            yield RESTRICTION.at(
                context,
                fit.call,
                f"each rank does the {context.text(steps)} steps of an epoch, which takes as long as with one: consider "
                "`steps_per_epoch` divided by `hvd.size()`",
                related=[context.related(steps, "the steps")],
                fixes=[_fix(context, steps)],
            )


def _is_of_whole_arrays(context: Context, fit: Fit, epochs: ast.expr) -> bool:
    """Whether a `fit` surely goes through the same arrays on every rank, as often as one process did."""
    use, data = context.facts.horovod, argument(fit.call, "x", 0)
    if fit.method != "fit" or data is None or has_unpacking(fit.call) or not use.runs(fit.call):
        return False
    if context.facts.feeding.kinds.pipelines.is_dataset(data):
        return _is_whole_pipeline(context, fit, data) and not is_one(epochs) and is_of_one(context, epochs)
    if argument(fit.call, "y", 1) is None:
        return False
    if is_one(epochs) or not is_of_one(context, epochs) or context.facts.rank_tests.may_be_guarded(fit.call):
        return False
    return is_alike(context, data) and not use.depends_on(data, "size", "local_size", limit=_LIMIT)


def _is_whole_pipeline(context: Context, fit: Fit, data: ast.expr) -> bool:
    """Whether a data set surely has all rows on each rank, and ends: nothing of it asks for the rank or for how many there are,
    and it is made of arrays or files that are there."""
    if context.facts.rank_tests.may_be_guarded(fit.call):
        return False
    nodes = list(context.values.depends([data], _LIMIT))
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    last = [context.names.last(c.func) for c in calls]
    if len(nodes) >= _LIMIT or any(name in _PARTING for name in last):
        return False
    asked = context.facts.horovod.depends_on(data, "rank", "size", "local_rank", "local_size", limit=_LIMIT)
    whole = any((context.names.of(c.func) or "").endswith("Dataset.from_tensor_slices") for c in calls)
    return whole and not asked and is_alike(context, data) or (whole and not asked and "shuffle" in last)


def _is_repeated(context: Context, data: ast.expr) -> bool:
    """Whether some data is a share of the rank, and is repeated without end on one of its ways: `if training: … .repeat()`."""
    calls = [n for n in context.values.depends([data], _LIMIT) if isinstance(n, ast.Call)]
    endless = any(context.names.last(c.func) == "repeat" and not c.args and not c.keywords for c in calls)
    return endless and any(context.names.last(c.func) == "shard" for c in calls)


def _is_drawn_without_end(context: Context, data: ast.expr) -> bool:
    """Whether a generator of the script's own gives batches, which never ends: `while True:` that nothing leaves."""
    functions = generators_of(context, data)
    return bool(functions) and all(
        isinstance(f, FUNCTIONS) and context.facts.generators.is_endless(f) for f in functions
    )


def _fix(context: Context, steps: ast.expr) -> Fix | None:
    name = horovod(context)
    if name is None:
        return None
    before, after = ("", "") if isinstance(steps, BINDING_TIGHTER) else ("(", ")")
    edits = Edit.around(context.module.span(steps), before, f"{after} // {name}.size()")
    return Fix("Divide the steps among the ranks", edits)


RESTRICTION = Restriction(
    "HVD321",
    "steps-not-divided",
    "an epoch of several ranks has fewer steps",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
