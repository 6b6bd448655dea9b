"""HVD312 metrics-not-averaged: callbacks that decide by a metric must see the same one on every rank.

## What it protects
Each rank has a loss and a validation metric of its own. `EarlyStopping` stops ranks in different epochs, and those that go on
wait in vain; `ReduceLROnPlateau` gives them different rates. `MetricAverageCallback` averages the metrics, for the callbacks
after it.

## When it is reported
On `EarlyStopping` and `ReduceLROnPlateau` in a list of callbacks that is seen whole, where `MetricAverageCallback` is missing
or comes later, and the optimizer is wrapped, or the tape in the model's own `train_step`. As information, on a
`ModelCheckpoint` that keeps the best epoch only: what it takes for the best is so for the rows of its rank; and on a
`NanTensorHook` that lets a rank end by its own loss, one step before the others.

## Quick fix
Put `MetricAverageCallback` before it, where it stands in a list or is appended.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    tf.keras.callbacks.EarlyStopping(),  # HVD312
    hvd.callbacks.MetricAverageCallback(),
]
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("best.h5", save_best_only=True))  # HVD312
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
callbacks.insert(0, tf.keras.callbacks.ReduceLROnPlateau("loss"))  # HVD312
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
send, stop = hvd.callbacks.BroadcastGlobalVariablesCallback(0), tf.keras.callbacks.EarlyStopping("loss")
if hvd.rank() == 0:
    callbacks = [send, tf.keras.callbacks.TensorBoard("logs"), stop]  # HVD312
else:
    callbacks = [send, stop]  # HVD312
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
loss = tf.reduce_mean(tf.layers.dense(read(), 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
hooks = [
    hvd.BroadcastGlobalVariablesHook(0),
    tf.train.NanTensorHook(loss, fail_on_nan_loss=False),  # HVD312
]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
send, average = hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()
stop = tf.keras.callbacks.EarlyStopping("loss")
if hvd.rank() == 0:
    callbacks = [send, average, tf.keras.callbacks.TensorBoard("logs"), stop]
else:
    callbacks = [send, average, stop]
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), tf.keras.callbacks.EarlyStopping("loss")]
callbacks.insert(1, hvd.callbacks.MetricAverageCallback())
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.MetricAverageCallback()]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("best.h5", save_best_only=True))
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("every-{epoch}.h5"))
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.MetricAverageCallback(), tf.keras.callbacks.EarlyStopping()]
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from metrics import AverageEverything

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[AverageEverything(), tf.keras.callbacks.EarlyStopping()])
```

## Source
Horovod's issues 3140, 1095 and 2740.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.callback_items import CallbackItem
from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import before_item, keras, without_item
from horovodize.restrictions.horovod.steered_by_one_rank import others_get_it
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation

_DECIDES = {
    "EarlyStopping": "ranks stop in different epochs, and those that go on wait in vain",
    "ReduceLROnPlateau": "ranks get different rates, and drift apart",
    "ModelCheckpoint": "the best epoch is that of its own rows",
}
_NAN_HOOKS = ("tensorflow.compat.v1.train.NanTensorHook", "tensorflow.estimator.NanTensorHook")
_KEEPS = "ModelCheckpoint"
_AVERAGES = "MetricAverageCallback"


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.wrapped and not use.calls(*TAPES):
        return
    if use.wrapped:
        yield from _stopped_by_nan(context)
    reported = set()
    for fit in context.sites.fits:
        if not use.wrapped and fit.call not in context.facts.collectives.all:
            continue  # nothing of this one waits for other ranks
        items = context.facts.callback_items.of(fit.call)
        names = [{n.rsplit(".", 1)[-1] for n in context.facts.callback_items.classes(item)} for item in items]
        if not all(
            n and _is_known(context.facts.callback_items.classes(i))
            for i, n in zip(items, names, strict=True)
        ):
            continue
        averaged = next((i for i, n in enumerate(names) if _AVERAGES in n), None)
        for at, (item, own) in enumerate(zip(items, names, strict=True)):
            found = next((name for name in _DECIDES if name in own), None)
            late = averaged is not None and averaged > at
            if (
                found is None
                or (found == _KEEPS and not _keeps_the_best(item))
                or (found != _KEEPS and not others_get_it(context, item, items))
                or (averaged is not None and not late)
                or item.node in reported
            ):
                continue
            if late and not _are_made_together(context, item, items[averaged or 0]):
                continue
            reported.add(item.node)
            what = f"`{_AVERAGES}` comes after it" if late else f"there is no `{_AVERAGES}`"
            yield RESTRICTION.at(
                context,
                item.node,
                f"`{found}` decides by this rank's own metric, as {what}: {_DECIDES[found]}; put "
                f"`hvd.callbacks.{_AVERAGES}()` before it{', on every rank' if item.by is not None else ''}",
                severity=Severity.INFORMATION if found == _KEEPS else None,
                fixes=[_fix(context, item, items[averaged] if averaged is not None else None)],
            )


def _stopped_by_nan(context: Context) -> Iterator[Violation]:
    """The hooks that end the training of a rank whose own loss is no number."""
    for call in context.module.calls_of(*_NAN_HOOKS):
        loss, fails = argument(call, "loss_tensor", 0), argument(call, "fail_on_nan_loss", 1)
        if loss is None or not isinstance(fails, ast.Constant) or fails.value:
            continue  # an error ends the whole job
        if (
            not context.facts.horovod.depends_on(loss, *AGREEING)
            and context.facts.rank_tests.deciding(call) is None
        ):
            yield RESTRICTION.at(
                context,
                call,
                "`NanTensorHook` stops a rank by its own loss, and the others wait for it in their next step: let it fail, "
                "which ends the whole job, or give it a loss that `hvd.allreduce` averaged",
                severity=Severity.INFORMATION,
            )


def _are_made_together(context: Context, one: CallbackItem, other: CallbackItem) -> bool:
    """Whether a `fit` surely gets two callbacks in their order: nothing decides whether it gets one, or the same for both, as
    for two of one list."""
    if one.unsure or other.unsure:
        return False
    lists = [context.syntax.parent.get(i.node) for i in (one, other)]
    if lists[0] is lists[1] and isinstance(lists[0], ast.List):
        return True
    return not any(i.by is None and context.syntax.conditions(i.node) for i in (one, other))


def _fix(context: Context, item: CallbackItem, later: CallbackItem | None) -> Fix | None:
    """Puts the callback that averages before another; takes it from where it stood."""
    name = keras(context)
    if name is None or item.unsure or item.by is not None or context.syntax.conditions(item.node):
        return None
    added = before_item(context, item.node, f"{name}.callbacks.{_AVERAGES}()")
    taken = without_item(context, later.node) if later is not None else ()
    return Fix("Average the metrics first", (*added, *taken)) if added and taken is not None else None


def _keeps_the_best(item: CallbackItem) -> bool:
    """Whether a `ModelCheckpoint` writes only what is better than before."""
    given = [argument(made, "save_best_only", 3) for made in item.made]
    return any(isinstance(e, ast.Constant) and e.value is True for e in given)


def _is_known(classes: set[str]) -> bool:
    return all(name.startswith(("tensorflow.", "horovod.")) for name in classes)


RESTRICTION = Restriction(
    "HVD312",
    "metrics-not-averaged",
    "callbacks that decide by a metric must see the same one on every rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
