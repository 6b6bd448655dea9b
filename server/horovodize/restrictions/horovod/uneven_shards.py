"""HVD323 uneven-shards: ranks should take as many steps as each other.

## What it protects
What is divided by `shard`, or by a slice of a stride, leaves some ranks with one element more than others, and with files, many
rows more. Who has more batches waits for the others in its last steps: the job hangs, or ends with an error.

## When it is reported
On a `fit`, the training of an Estimator, or a loop around a wrapped tape or a session's train op, that goes through all that
its rank was dealt by `shard(hvd.size(), hvd.rank())`, `rows[hvd.rank()::hvd.size()]`, `np.array_split(rows,
hvd.size())[hvd.rank()]` or blocks of which the last rank's has another length, where nothing fixes the number of steps and
nothing cuts the rows before to a multiple of size(). Not where the script asks what is left by a division by size(), or calls
`hvd.join()`. A warning on a number of steps or epochs (`take(…)`, `range(…)`, `steps_per_epoch`, `epochs`, `initial_epoch`,
those of a `StopAtStepHook`) that the rank decides, and size() doesn't: `take(1000 // (hvd.rank() + 1))`, or a first epoch that
rank 0 alone finds and doesn't send. On a `fit` to arrays of which rank 0 takes the rows before one, and the others those after
it. Also on one that a test of the rank changes: `if hvd.rank() == 1: steps -= 1`, or that a count is compared with: `while
step < steps + hvd.rank():`; and on a `fit` whose number each rank takes from its own clock or draw: `epochs=int((end -
time.time()) // 60)`. As information, on one that nothing but whether a file is there decides, or which the folder holds that
the script saves to: another host may have others.

In a script of `horovod.torch`, a warning on a `DistributedSampler` that is given the local rank beside the number of all
ranks, and on one that is given neither: it asks `torch.distributed`, which isn't started.

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
import time

import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
began = time.time()
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
for_an_hour = int(3600 // (time.time() - began))
model.fit(x, y, epochs=for_an_hour, callbacks=callbacks)  # HVD323
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
from collections.abc import Iterator
from typing import TypeGuard

from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.interleaving import OwnAnswers
from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_training
from horovodize.restrictions.horovod.alike_data import gone_through
from horovodize.restrictions.horovod.counted_batches import counted
from horovodize.restrictions.horovod.counts_of_turns import ends_of_turns, numbers, turns_of_sessions
from horovodize.restrictions.horovod.numbers_of_steps import OF_A_HOST, found_on_a_host, is_drawn_apart
from horovodize.restrictions.horovod.part_of_rank import dealt_at, is_cut
from horovodize.restrictions.horovod.set_by_rank import set_by_rank
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_LIMIT = 300


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.of_torch:
        yield from torch_training.uneven_shards(context, RESTRICTION)
        return
    if use.calls("join"):
        return
    for site, data, reasons in counted(context) if use.calls("rank") else ():
        if not use.runs(site) or context.facts.rank_tests.is_guarded_everywhere(site):
            continue
        dealt = next(
            (
                d
                for reason in reasons
                if (d := dealt_at(context, reason, data)) is not None
                and not _is_of_another_call(context, d, data)
            ),
            None,
        )
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
    yield from _ended(context)
    yield from _of_two_parts(context)


def _is_of_another_call(context: Context, dealt: ast.expr, data: ast.expr) -> bool:
    """Whether a part is what another call of a function gets, that gives the batches here: `batches(valid[rank::size])`."""
    data = gone_through(context, data)
    function = context.values.callee(data) if isinstance(data, ast.Call) else None
    if not isinstance(data, ast.Call) or not isinstance(function, FUNCTIONS):
        return False
    others = [c for c in context.syntax.calls if c is not data and context.values.callee(c) is function]
    given, passed = (
        ([*c.args, *(k.value for k in c.keywords)] for c in (data, *others[:1])) if others else ([], [])
    )
    passed += [e for c in others[1:] for e in (*c.args, *(k.value for k in c.keywords))]
    return dealt in set(context.values.depends(passed, _LIMIT)) - set(context.values.depends(given, _LIMIT))


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
    use, sessions = context.facts.horovod, {site for site, _ in turns_of_sessions(context)}
    answers, fits = OwnAnswers(context.facts), {f.call for f in context.sites.fits}
    seen: set[ast.AST] = set()
    for site, counts in [*numbers(context), *turns_of_sessions(context)]:
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        for count in counts:
            asked = next(set_by_rank(context, count), None)
            if asked is None:
                asked = _asked(context, count) if site not in sessions else _added_rank(context, count)
            if asked is None and site in fits and is_drawn_apart(context, answers, count):
                asked = count  # in the turns of a loop, following the ranks says so: HVD331
            if asked is None and (file := found_on_a_host(context, count)) is not None and file not in seen:
                seen.add(file)
                yield RESTRICTION.at(
                    context,
                    site,
                    OF_A_HOST,
                    related=[context.related(file, "whether it is there decides")],
                )
            if asked is None or asked in seen:
                continue
            seen.add(asked)
            yield _by_rank(context, site, asked)
            break


def _ended(context: Context) -> Iterator[Violation]:
    """What trains with other ranks until a count comes to a number of the rank's own arithmetic. (Where a statement under a
    test of the rank sets it, following the ranks says so: HVD331.)"""
    for site, compared in ends_of_turns(context):
        if not context.facts.horovod.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        asked = next((a for e in compared for a in set_by_rank(context, e) if isinstance(a, ast.expr)), None)
        if asked is not None:
            yield _by_rank(context, site, asked)


def _by_rank(context: Context, site: ast.AST, asked: ast.AST) -> Violation:
    return RESTRICTION.at(
        context,
        site,
        "the rank decides how many steps are taken here, and who takes more waits for the others in vain: let all take as many",
        severity=Severity.WARNING,
        related=[context.related(asked, "this differs between ranks")],
    )


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


RESTRICTION = Restriction(
    "HVD323",
    "uneven-shards",
    "ranks should take as many steps as each other",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
