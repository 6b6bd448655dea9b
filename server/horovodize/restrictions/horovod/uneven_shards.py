"""HVD323 uneven-shards: ranks should take as many steps as each other.

## What it protects
What is divided by `shard`, or by a slice of a stride, leaves some ranks with one element more than others, and with files, many
rows more. Who has more batches waits for the others in its last steps: the job hangs, or ends with an error.

## When it is reported
On a `fit`, the training of an Estimator, or a loop around a wrapped tape or a session's train op, that goes through all that
its rank was dealt by `shard(hvd.size(), hvd.rank())` or `rows[hvd.rank()::hvd.size()]`, where nothing fixes the number of
steps and nothing cuts the rows before to a multiple of size(). Not where the script asks what is left by a division by size(),
or calls `hvd.join()`. A warning on a number of steps or epochs (`take(…)`, `range(…)`, `steps_per_epoch`, `epochs`,
`initial_epoch`, those of a `StopAtStepHook`) that the rank decides, and size() doesn't: `take(1000 // (hvd.rank() + 1))`, or a
first epoch that rank 0 alone finds and doesn't send. On a `fit` to arrays of which rank 0 takes the rows before one, and the
others those after it. Also on one that a test of the rank changes: `if hvd.rank() == 1: steps -= 1`. As information, on one
that nothing but whether a file is there decides, or which the folder holds that the script saves to: another host may have
others.

In a script of `horovod.torch`, a warning on a `DistributedSampler` that is given the local rank beside the number of all ranks,
and on one that is given neither: it asks `torch.distributed`, which isn't started.

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

```python
import torch
import horovod.torch as hvd

hvd.init()
rows = torch.utils.data.TensorDataset(x, y)
sampler = torch.utils.data.distributed.DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.local_rank())  # HVD323
```

## Near misses
```python
import torch
import horovod.torch as hvd

hvd.init()
rows = torch.utils.data.TensorDataset(x, y)
sampler = torch.utils.data.distributed.DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
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
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_training
from horovodize.restrictions.horovod.numbers_of_steps import found_on_a_host, of_loop
from horovodize.restrictions.horovod.part_of_rank import dealt_at, is_cut
from horovodize.restrictions.horovod.set_by_rank import set_by_rank
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind
from horovodize.summary.syntax import LOOPS, argument, has_unpacking, says_none

_BOUNDING = ("take", "islice", "repeat", "cycle")
_FITS = ("fit", "fit_generator")
_ON_BATCH = "train_on_batch"
_LIMIT = 300
_LEAVING = (ast.Break, ast.Return, ast.Raise)


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.of_torch:
        yield from torch_training.uneven_shards(context, RESTRICTION)
        return
    if use.calls("join"):
        return
    for site, data, reasons in _counted(context) if use.calls("rank") else ():
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        dealt = next((d for reason in reasons if (d := dealt_at(context, reason, data)) is not None), None)
        if dealt is None or is_cut(context, dealt):
            continue
        yield RESTRICTION.at(
            context,
            site,
            "ranks may have more or fewer batches than others here, and who has more waits for them in vain: let all take as "
            "many steps",
            related=[context.related(dealt, "divided here, perhaps unevenly")],
        )
    yield from _chosen(context)
    yield from _of_two_parts(context)


def _of_two_parts(context: Context) -> Iterator[Violation]:
    """Fits to arrays of which rank 0 takes those before a row, and the others those after it, or the other way round."""
    use, tests = context.facts.horovod, context.facts.rank_tests
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0)
        if data is None or fit.method != "fit" or argument(fit.call, "steps_per_epoch") is not None:
            continue
        if (
            fit.call not in context.facts.collectives.all
            or not use.runs(fit.call)
            or tests.may_be_guarded(fit.call)
        ):
            continue
        parts = [
            (n, context.text(n.value), n.slice.lower, n.slice.upper)
            for n in context.values.depends([data], _LIMIT)
            if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and n.slice.step is None
            if tests.deciding(n) is not None
        ]
        for part, text, lower, upper in parts:
            after = upper is not None and any(
                text == other and up is None and low is not None and context.text(low) == context.text(upper)
                for _, other, low, up in parts
            )
            if lower is None and after:
                yield RESTRICTION.at(
                    context,
                    fit.call,
                    "ranks may have more or fewer batches than others here, and who has more waits for them in vain: let all "
                    "take as many steps",
                    related=[context.related(part, "divided here, perhaps unevenly")],
                )
                break


def _chosen(context: Context) -> Iterator[Violation]:
    """What trains with other ranks for as many steps or epochs as its rank says."""
    use, sessions = context.facts.horovod, {site for site, _ in _turns_of_sessions(context)}
    seen: set[ast.AST] = set()
    for site, counts in [*_numbers(context), *_turns_of_sessions(context)]:
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        for count in counts:
            asked = next(set_by_rank(context, count), None)
            if asked is None:
                asked = _asked(context, count) if site not in sessions else _added_rank(context, count)
            if asked is None and (file := found_on_a_host(context, count)) is not None and file not in seen:
                seen.add(file)
                yield RESTRICTION.at(
                    context,
                    site,
                    "ranks of a host without the file take other steps here than the others, and wait for each other in vain: "
                    "send rank 0's number, by `hvd.broadcast_object`",
                    related=[context.related(file, "whether it is there decides")],
                )
            if asked is None or asked in seen:
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


def _asked(context: Context, count: ast.expr) -> ast.AST | None:
    """Where a number asks for the rank that is not made with the number of ranks, nor of anything unseen, which may be given
    the rank for something else."""
    reasons = context.facts.uniform.reasons(count)
    if (added := _added_rank(context, count)) is not None:
        return added
    if any(isinstance(r, Unknown) for r in reasons) or context.facts.horovod.depends_on(
        count, "size", "local_size"
    ):
        return None
    return next((r.where for r in reasons if _is_of_rank(context, r)), None)


def _added_rank(context: Context, count: ast.expr) -> ast.expr | None:
    """The rank itself, where it is added to a number of steps that is otherwise the same on all ranks, or taken from it."""
    use = context.facts.horovod
    for made in (o.node for o in context.values.origins(count) if not o.path):
        if isinstance(made, ast.BinOp) and isinstance(made.op, (ast.Add, ast.Sub)):
            for side, other in ((made.left, made.right), (made.right, made.left)):
                if use.is_call(side, "rank", "local_rank") and not use.depends_on(
                    other, "rank", "local_rank"
                ):
                    return side
    return None


def _is_of_rank(context: Context, reason: Varies | Unknown) -> TypeGuard[Varies]:
    return isinstance(reason, Varies) and context.facts.horovod.is_call(reason.where, "rank", "local_rank")


def _numbers(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """What trains with other ranks, and the numbers that say for how long."""
    for fit in context.sites.fits:
        if fit.call in context.facts.collectives.all and fit.method in _FITS and not has_unpacking(fit.call):
            given = [argument(fit.call, name) for name in ("steps_per_epoch", "epochs", "initial_epoch")]
            data = argument(fit.call, "x", 0)
            yield (
                fit.call,
                [e for e in given if e is not None] + (_limits(context, data) if data is not None else []),
            )
        elif fit.call in context.facts.collectives.all and fit.method == _ON_BATCH:
            loops = dict.fromkeys(o for way in context.ways(fit.call) for frame in way for o in frame.loops)
            yield fit.call, [e for o in loops if isinstance(o, ast.For) for e in _limits(context, o.iter)]
    for training in context.sites.read_estimators.trainings if context.facts.horovod.wrapped else ():
        yield training.call, [e for e in (training.steps, training.max_steps) if e is not None]
    for hook in context.syntax.calls if context.facts.horovod.wrapped else ():
        if (context.names.of(hook.func) or "").endswith("train.StopAtStepHook"):
            yield hook, [*hook.args, *(k.value for k in hook.keywords)]
    if not context.facts.horovod.calls(*TAPES):
        return
    for update in context.sites.updates:
        ways = context.ways(update.call) if update.step_of is None else []
        loops = dict.fromkeys(loop for way in ways for frame in way for loop in frame.loops)
        yield (
            update.call,
            [e for loop in loops if isinstance(loop, ast.For) for e in _limits(context, loop.iter)],
        )


def _turns_of_sessions(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Runs of a session that train, and the numbers of the turns of the loops around."""
    for training in context.loops if context.facts.horovod.wrapped else ():
        if training.kind in (LoopKind.SESSION, LoopKind.MONITORED_SESSION):
            loops = [loop for loop, _ in of_loop(context, training)]
            turns = [e for loop in loops if isinstance(loop, ast.For) for e in _limits(context, loop.iter)]
            yield training.node, turns


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


def _counted(context: Context) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """What trains with other ranks, what it goes through, and why it may take other numbers of steps on them."""
    together, uniform = context.facts.collectives.all, context.facts.uniform
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0) or argument(fit.call, "generator")
        steps = argument(fit.call, "steps_per_epoch", 1 if fit.method == "fit_generator" else None)
        if fit.call not in together or fit.method not in _FITS or has_unpacking(fit.call):
            continue
        if steps is not None:
            yield fit.call, steps, uniform.reasons(steps)
        elif data is not None and not _is_bounded(context, data):
            yield fit.call, data, [*uniform.number_reasons(data), *_of_sequence(context, data)]
    yield from _of_estimators(context)
    for training in context.loops if context.facts.horovod.wrapped else ():
        if training.kind is LoopKind.SESSION and training.node in together:
            yield from _gone_through(context, training.node)
    averages = context.facts.horovod.calls(*TAPES) or any(c.trains for c in together.values())
    for update in context.sites.updates if averages else ():
        if update.step_of is None:
            yield from _gone_through(context, update.call)


def _of_estimators(context: Context) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """The same of Estimators that train until their rows end."""
    estimators, uniform = context.sites.read_estimators, context.facts.uniform
    for trained in estimators.trainings if context.facts.horovod.wrapped else ():
        inputs = estimators.inputs(trained, context.facts.feeding.kinds.pipelines)
        ends = trained.steps is None and trained.max_steps is None and not has_unpacking(trained.said)
        given = inputs[0].datasets if ends and len(inputs) == 1 else ()
        for data in given if len(given) == 1 else ():
            if not any(
                isinstance(n, ast.Call) and (context.names.last(n.func) == "take" or _is_endless(context, n))
                for n in context.values.depends([data], _LIMIT)
            ):
                yield trained.call, data, uniform.number_reasons(data)


def _is_endless(context: Context, call: ast.Call) -> bool:
    """`rows.repeat()`"""
    count = argument(call, "count", 0)
    return context.names.last(call.func) == "repeat" and (count is None or says_none(count))


def _gone_through(context: Context, site: ast.Call) -> Iterator[tuple[ast.Call, ast.expr, Iterable[object]]]:
    """The data that the innermost loop around a step goes through to its end."""
    ways = context.ways(site)
    loop = next((f.loops[0] for f in ways[0] if f.loops), None) if len(ways) == 1 else None
    if isinstance(loop, ast.For) and not any(isinstance(n, _LEAVING) for n in _own(loop)):
        if not _is_bounded(context, loop.iter):
            yield site, loop.iter, context.facts.uniform.number_reasons(loop.iter)


def _of_sequence(context: Context, data: ast.expr) -> Iterator[object]:
    """The same of the length of a Sequence of the script's own."""
    for made in context.values.calls(data):
        if isinstance(owner := context.values.callee(made), ast.ClassDef):
            for method in context.values.definitions.methods_of("__len__", frozenset([owner])):
                for length in context.values.returned(method):
                    yield from context.facts.uniform.reasons(length)


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


RESTRICTION = Restriction(
    "HVD323",
    "uneven-shards",
    "ranks should take as many steps as each other",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
