"""HVD323 uneven-shards: ranks should take as many steps as each other.

## What it protects
What is divided by `shard`, or by a slice of a stride, leaves some ranks with one element more than others, and with files, many
rows more. Who has more batches waits for the others in its last steps: the job hangs, or ends with an error.

## When it is reported
On a `fit`, or a loop around a wrapped tape, that goes through all that its rank was dealt by `shard(hvd.size(), hvd.rank())` or
`rows[hvd.rank()::hvd.size()]`, where nothing fixes the number of steps and nothing cuts the rows before to a multiple of
size(). Not where the script asks what is left by a division by size(), or calls `hvd.join()`.
A warning on a number of steps or epochs (`take(…)`, `range(…)`, `steps_per_epoch`, `epochs`, `initial_epoch`, those of a
`StopAtStepHook`) that the rank decides, and size() doesn't: `take(1000 // (hvd.rank() + 1))`, or a first epoch that rank 0
alone finds and doesn't send.

## Quick fix
None: usually `.repeat()` with `steps_per_epoch=steps // hvd.size()`, `.take(…)`, or rows cut to a multiple of `hvd.size()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.TFRecordDataset(files).shard(hvd.size(), hvd.rank()).map(parse).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD323
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
files = tf.io.gfile.glob("*.tfrecord")[hvd.rank()::hvd.size()]
for x in tf.data.TFRecordDataset(files).map(parse).batch(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD323
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.Dataset.from_tensor_slices(images).repeat().batch(10)
for x in rows.take(1000 // (hvd.rank() + 1)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD323
```

```python
import os

import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
first = 0
if hvd.rank() == 0:
    for epoch in range(10, 0, -1):
        if os.path.exists(f"checkpoint-{epoch}.h5"):
            first = epoch
            break
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(x, y, epochs=10, initial_epoch=first, callbacks=callbacks)  # HVD323
```

## Near misses
```python
import os

import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
first = 0
if hvd.rank() == 0:
    for epoch in range(10, 0, -1):
        if os.path.exists(f"checkpoint-{epoch}.h5"):
            first = epoch
            break
first = hvd.broadcast(first, 0, name="first")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(x, y, epochs=10, initial_epoch=first, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for i in range(hvd.rank(), 1000, hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(images[i]) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.TFRecordDataset(files).shard(hvd.size(), hvd.rank()).repeat().map(parse).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, steps_per_epoch=500 // hvd.size(), callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
whole = len(x) // hvd.size() * hvd.size()
x, y = x[:whole][hvd.rank()::hvd.size()], y[:whole][hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
assert len(x) % hvd.size() == 0
x, y = x[hvd.rank()::hvd.size()], y[hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.TFRecordDataset(files).shard(hvd.size(), hvd.rank()).map(parse).batch(10)
for x in rows.take(1000 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = tf.data.TFRecordDataset(files)
rows = rows.concatenate(rows.repeat().take(hvd.rank())).shard(hvd.size(), hvd.rank()).map(parse).batch(10)
for x in rows.repeat().take(500):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Source
Horovod's guide for TensorFlow (`dataset.take(10000 // hvd.size())`) and its documentation of `join`; seen with Horovod 0.28.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from horovodize.facts.answers import Unknown, Varies
from horovodize.facts.horovod_use import TAPES
from horovodize.facts.sources import Source
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import LOOPS, argument, has_unpacking

_BOUNDING = ("take", "islice", "repeat", "cycle")
_LIMIT = 300
_LEAVING = (ast.Break, ast.Return, ast.Raise)


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.calls("rank") or use.calls("join"):
        return
    for site, reasons in _counted(context):
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        dealt = next((d for reason in reasons if (d := _dealt_at(context, reason)) is not None), None)
        if dealt is None or _is_cut(context, dealt):
            continue
        yield RESTRICTION.at(
            context,
            site,
            "ranks may have more or fewer batches than others here, and who has more waits for them in vain: let all take as "
            "many steps",
            related=[context.related(dealt, "divided here, perhaps unevenly")],
        )
    yield from _chosen(context)


def _chosen(context: Context) -> Iterator[Violation]:
    """What trains with other ranks for as many steps or epochs as its rank says."""
    use, uniform = context.facts.horovod, context.facts.uniform
    seen: set[ast.AST] = set()
    for site, counts in _numbers(context):
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        for count in counts:
            reasons = uniform.reasons(count)
            if any(
                isinstance(r, Unknown) for r in reasons
            ):  # what isn't seen may be given the rank for something else
                continue
            asked = next((r.where for r in reasons if _is_of_rank(context, r)), None)
            if asked is None or asked in seen or use.depends_on(count, "size", "local_size"):
                continue
            seen.add(asked)
            yield RESTRICTION.at(
                context,
                site,
                "the rank decides how many steps are taken here, and who takes more waits for the others in vain: let all "
                "take as many",
                severity=Severity.WARNING,
                related=[context.related(asked, "this differs between ranks")],
            )
            break


def _is_of_rank(context: Context, reason: Varies | Unknown) -> TypeGuard[Varies]:
    return isinstance(reason, Varies) and context.facts.horovod.is_call(reason.where, "rank", "local_rank")


def _numbers(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """What trains with other ranks, and the numbers that say for how long."""
    for fit in context.sites.fits:
        if fit.call in context.facts.collectives.all and fit.method == "fit" and not has_unpacking(fit.call):
            given = [argument(fit.call, name) for name in ("steps_per_epoch", "epochs", "initial_epoch")]
            data = argument(fit.call, "x", 0)
            yield (
                fit.call,
                [e for e in given if e is not None] + (_limits(context, data) if data is not None else []),
            )
    for training in context.sites.read_estimators.trainings if context.facts.horovod.wrapped else ():
        given = [argument(training.call, name) for name in ("steps", "max_steps")]
        yield training.call, [e for e in given if e is not None]
    for hook in context.syntax.calls if context.facts.horovod.wrapped else ():
        if (context.names.of(hook.func) or "").endswith("train.StopAtStepHook"):
            yield hook, [*hook.args, *(k.value for k in hook.keywords)]
    if not context.facts.horovod.calls(*TAPES):
        return
    for update in context.sites.updates:
        ways = context.ways(update.call) if update.step_of is None else []
        loops = [loop for frame in ways[0] for loop in frame.loops] if len(ways) == 1 else []
        yield (
            update.call,
            [e for loop in loops if isinstance(loop, ast.For) for e in _limits(context, loop.iter)],
        )


def _limits(context: Context, data: ast.expr) -> list[ast.expr]:
    """The numbers by which calls that some data comes from end early: of `take`, `islice` and a `range` that all ranks count
    through, not one that size() deals out."""
    use = context.facts.horovod
    found: list[ast.expr] = []
    for node in context.values.depends([data], _LIMIT):
        if isinstance(node, ast.Call) and context.names.last(node.func) in ("take", "islice"):
            found += node.args[-1:] if not _fills_up(context, node) else []
        elif isinstance(node, ast.Call) and context.names.last(node.func) == "range":
            if not any(use.depends_on(a, "size") for a in node.args):
                found += node.args
    return found


def _fills_up(context: Context, taken: ast.Call) -> bool:
    """Whether rows are only put behind others, so that all ranks get equally many: `rows.concatenate(rows.take(rank))`."""
    parent = context.syntax.parent.get(taken)
    return (
        isinstance(parent, ast.Call)
        and context.names.last(parent.func) == "concatenate"
        and taken in parent.args
    )


def _counted(context: Context) -> Iterator[tuple[ast.Call, Iterable[object]]]:
    """What trains with other ranks, and why it may take other numbers of steps on them: its data, or its number of steps."""
    together, uniform = context.facts.collectives.all, context.facts.uniform
    for fit in context.sites.fits:
        data, steps = argument(fit.call, "x", 0), argument(fit.call, "steps_per_epoch")
        if fit.call in together and fit.method == "fit" and not has_unpacking(fit.call):
            if steps is not None:
                yield fit.call, uniform.reasons(steps)
            elif data is not None and not _is_bounded(context, data):
                yield fit.call, uniform.number_reasons(data)
    if not context.facts.horovod.calls(*TAPES):
        return
    for update in context.sites.updates:
        ways = context.ways(update.call) if update.step_of is None else []
        loop = next((f.loops[0] for f in ways[0] if f.loops), None) if len(ways) == 1 else None
        if isinstance(loop, ast.For) and not any(isinstance(n, _LEAVING) for n in _own(loop)):
            if not _is_bounded(context, loop.iter):
                yield update.call, uniform.number_reasons(loop.iter)


def _is_bounded(context: Context, data: ast.expr) -> bool:
    """Whether a number is given of how much of the data is taken."""
    calls = (n for n in context.values.depends([data], _LIMIT) if isinstance(n, ast.Call))
    return any(context.names.last(call.func) in _BOUNDING for call in calls)


def _own(loop: ast.For) -> Iterator[ast.AST]:
    """What stands in a loop, and in no loop in there."""
    todo: list[ast.AST] = [*loop.body]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, LOOPS):
            todo += ast.iter_child_nodes(node)


def _dealt_at(context: Context, reason: object) -> ast.expr | None:
    """The `shard`, or the slice of a stride, by which a rank takes its part."""
    if not isinstance(reason, Varies) or reason.kind is not Source.HOST:
        return None
    child = reason.where
    for a in context.syntax.ancestors(child):
        if isinstance(a, ast.Call) and child is not a.func and context.names.last(a.func) == "shard":
            return a
        if isinstance(a, ast.Subscript) and isinstance(a.slice, ast.Slice):
            return a if a.slice.step is not None and a.slice.upper is None else None
        if isinstance(a, ast.stmt):
            return None
        child = a
    return None


def _is_cut(context: Context, dealt: ast.expr) -> bool:
    """Whether what is divided was cut by the number of ranks before, or the script asks for the rest of a division by it."""
    use, function = context.facts.horovod, context.syntax.function(dealt)
    for asked in context.syntax.every(ast.If, ast.IfExp, ast.Assert):
        parts = (n for n in ast.walk(asked.test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod))
        if context.syntax.function(asked) is function and any(
            use.depends_on(n.right, "size", limit=60) for n in parts
        ):
            return True
    if isinstance(dealt, ast.Call):
        whole = dealt.func.value if isinstance(dealt.func, ast.Attribute) else dealt
    else:
        assert isinstance(dealt, ast.Subscript)
        whole = dealt.value
    return use.depends_on(whole, "size", "local_size", limit=300)


RESTRICTION = Restriction(
    "HVD323",
    "uneven-shards",
    "ranks should take as many steps as each other",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
