"""HVD308 rate-not-scaled: the learning rate should grow with the number of ranks.

## What it protects
Nothing goes wrong. With N ranks a step averages N batches, and an epoch has 1/N of the steps; at the rate of one process the
model learns less in an epoch. Horovod's guide multiplies the rate by size(); with adaptive optimizers a smaller factor may be
better.

## When it is reported
On a wrapped optimizer whose rate, or the first one of its schedule, is a constant or an argument of the script, where `fit`
trains on batches of more rows, or on the optimizer of a loop with a wrapped tape, in a script that uses size() for nothing but
to divide the rows or the steps (or to print it); also in a `MonitoredTrainingSession` whose graph draws or reads its rows, if
its `StopAtStepHook` is given steps that are divided, and in a session that is fed batches, also where it is fed the rate. Not
where it can't be seen what a `fit` trains on: all ranks may train on the same rows. On a rate of a wrapped optimizer, also one
of PyTorch's, that is multiplied by `local_size()` and by nothing that knows of other hosts, unless the script names Adasum.

## Quick fix
Multiply the rate by `size()`; `size()` for `local_size()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")  # HVD308
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.01, 1000, 0.9)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")  # HVD308
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)  # HVD308
for x in tf.data.Dataset.range(1000).batch(10).take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd


class Config:
    rate = 0.01


hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(Config.rate)), "mse")  # HVD308
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.local_size())), "mse")  # HVD308
model.fit(rows, epochs=3, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

from data import dataset

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
model.fit(dataset, epochs=3, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
from dataclasses import dataclass

import tensorflow as tf
import horovod.tensorflow.keras as hvd


@dataclass
class Config:
    rate: float = 0.01


hvd.init()
config = Config(rate_of_all_ranks())
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(config.rate)), "mse")
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
for x in tf.data.Dataset.range(1000).batch(60 // hvd.size()).take(100):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape, op=hvd.Sum)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
workers = hvd.size()
optimizer.learning_rate.assign(0.01 * workers)
for x in tf.data.Dataset.range(1000).batch(10).take(100 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
batch = 256 // hvd.size()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
model.fit(tf.data.Dataset.range(1000).batch(batch), epochs=3)
```

## Source
Horovod's guide for TensorFlow, step 3; Horovod's issues 127 and 114.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.class_attributes import constant_of_class
from horovodize.facts.feeds.steps import Feed
from horovodize.facts.horovod.horovod_use import TAPES, rates_of
from horovodize.facts.rates.fed_rates import FedRates
from horovodize.python.values import Origin
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import of_one_host
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.mending import times_size
from horovodize.restrictions.horovod.summed_and_scaled import by_hand, sums
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.summary import LoopKind, TrainingLoop


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    yield from of_one_host.rates(context, RESTRICTION, () if use.of_torch else averaging(context))
    if use.of_torch or not use.shows_training or not all(map(use.is_number_of_shares, _asked(context))):
        return
    if not all(_is_of_batches(context, loop) for loop in context.loops):
        return
    fed = FedRates(context.module, context.sites)
    for wrapper, given in averaging(context):
        rates = [first_rate(context, r) for rate in given for r in fed.given_for(rate) or [rate]]
        constant = [o for rate in rates for o in _made_of(context, rate)]
        if (
            rates
            and not sums(context, wrapper)
            and use.runs(wrapper)
            and all(_is_of_one_process(context, o) for o in constant)
        ):
            yield RESTRICTION.at(
                context,
                wrapper,
                "the rate is that of one process, while a step takes the rows of all: consider the rate times `hvd.size()`",
                related=[context.related(rates[0], "the rate")],
                fixes=[_fix(context, rates)],
            )


def _made_of(context: Context, rate: ast.expr) -> list[Origin]:
    """What a rate may be: also what a class says that its objects have."""
    by_class = constant_of_class(context.module, rate)
    return context.values.origins(by_class if by_class is not None else rate)


def _is_of_one_process(context: Context, rate: Origin) -> bool:
    """Whether a rate is a number, or one that the script was started with: `FLAGS.lr`."""
    if isinstance(rate.node, (ast.Attribute, ast.BinOp)):
        return context.facts.horovod.factor(rate.node) == 0
    return isinstance(rate.node, ast.Constant) and not rate.path


def _asked(context: Context) -> list[ast.expr]:
    """Where the number of ranks is read."""
    return [node for name in ("size", "local_size") for node in context.module.loads.get(name)]


def averaging(context: Context) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """What trains on all ranks' gradients, and its rates: wrapped optimizers, and plain ones that a wrapped tape feeds, or
    gradients that the script averages itself."""
    use = context.facts.horovod
    for wrapper in use.wrapped:
        yield wrapper, list(use.rates(wrapper))
    tapes = use.calls(*TAPES) or by_hand(context)
    if use.wrapped or not tapes or any(sums(context, tape) for tape in tapes):
        return
    made: dict[ast.Call, None] = {}
    for update in context.sites.updates:
        if update.step_of is not None:  # `self.optimizer`, which `compile` is given
            given = [e for c in context.sites.compiles for e in c.optimizers]
            found = [a for e in given for a in context.facts.optimizers.arrivals(e)]
            made.update((a.node, None) for a in found if isinstance(a.node, ast.Call) and not a.part)
            continue
        arrivals = context.facts.optimizers.arrivals(update.optimizer) if update.optimizer is not None else ()
        made.update((a.node, None) for a in arrivals if isinstance(a.node, ast.Call) and not a.part)
    for call in made:
        if context.module.is_optimizer(call):
            yield call, list(rates_of(call))


def _fix(context: Context, rates: list[ast.expr]) -> Fix | None:
    edits = times_size(context, rates[0]) if len(rates) == 1 else None
    return Fix("Multiply it by the number of ranks", edits) if edits else None


def _is_of_batches(context: Context, loop: TrainingLoop) -> bool:
    """Whether each step of a `fit`, or of a loop with a tape, sees a batch of more rows."""
    by_fit = any(f.call is loop.node and f.method != "train_on_batch" for f in context.sites.fits)
    by_tape = loop.kind is LoopKind.GRADIENT_TAPE
    if loop.kind is LoopKind.SESSION:  # of rows or steps that are divided: not of a game that each rank plays
        return context.facts.steps.of(loop.node).feed in (Feed.DRAW, Feed.BATCH) and bool(_asked(context))
    if loop.kind is LoopKind.MONITORED_SESSION and context.facts.steps.of(loop.node).feed in (
        Feed.DRAW,
        Feed.BATCH,
    ):
        return _divides_steps(context)
    unseen = any(
        fed.fit.call is loop.node and context.facts.undivided.is_unseen(fed)
        for fed in context.facts.feeding.fits
    )
    return (by_fit or by_tape) and not unseen and context.facts.steps.of(loop.node).feed is Feed.BATCH


def _divides_steps(context: Context) -> bool:
    """Whether the steps of a session's hook are divided: as each is of all ranks' rows, a step's rate is to grow with them."""
    hooks = [c for c in context.module.syntax.calls if context.names.last(c.func) == "StopAtStepHook"]
    given = [e for hook in hooks for e in (*hook.args, *(k.value for k in hook.keywords))]
    return any(context.facts.horovod.depends_on(e, "size") for e in given)


RESTRICTION = Restriction(
    "HVD308",
    "rate-not-scaled",
    "the learning rate should grow with the number of ranks",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
