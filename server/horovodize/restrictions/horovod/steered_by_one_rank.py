"""HVD311 steered-by-one-rank: callbacks that steer training must run on every rank.

## What it protects
Where rank 0 alone stops early, the others wait for its gradients in vain. Where it alone lowers its rate, it steps less far
than the others with the same gradients, and the ranks drift apart.

## When it is reported
On `EarlyStopping`, `ReduceLROnPlateau`, `TerminateOnNaN`, `BackupAndRestore` (which sets the first epoch), rate schedulers and
Horovod's own callbacks (with those that commit an elastic state) that only some ranks give to `fit`, by a test of the rank. On
`BroadcastGlobalVariablesHook` and `StopAtStepHook` that only some ranks give to an Estimator or a `MonitoredTrainingSession`.

## Quick fix
Take the test of the rank away, where it decides nothing else.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.EarlyStopping())  # HVD311
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd
from network import model_fn, read

hvd.init()
estimator = tf.estimator.Estimator(model_fn, model_dir="run" if hvd.rank() == 0 else None)
hooks = [hvd.BroadcastGlobalVariablesHook(0)]  # HVD311
estimator.train(read, max_steps=1000 // hvd.size(), hooks=hooks if hvd.rank() == 0 else None)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.BackupAndRestore("backup"))  # HVD311
model.fit(x, y, callbacks=callbacks)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
callbacks.append(tf.keras.callbacks.BackupAndRestore(f"backup-{hvd.rank()}"))
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=1000 // hvd.size())]
if hvd.rank() == 0:
    hooks.append(tf.train.LoggingTensorHook(["loss"], every_n_iter=10))
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
    tf.keras.callbacks.EarlyStopping(),
]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("best.h5"))
model.fit(x, y, callbacks=callbacks)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
send = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
if hvd.rank() == 0:
    callbacks = [tf.keras.callbacks.ModelCheckpoint("best.h5"), send]
else:
    callbacks = [send]
model.fit(x, y, callbacks=callbacks)
```

## Source
Horovod's issues 4027, 3140 and 2740.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.callback_items import CallbackItem
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import stands_alone
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_STOPS = ("EarlyStopping", "TerminateOnNaN")
_BACKING = "BackupAndRestore"
_STEERS = (
    *_STOPS,
    _BACKING,
    "ReduceLROnPlateau",
    "LearningRateScheduler",
    "LearningRateWarmupCallback",
    "LearningRateScheduleCallback",
    "BroadcastGlobalVariablesCallback",
    "MetricAverageCallback",
    "CommitStateCallback",
)
_SENDING_HOOK = "BroadcastGlobalVariablesHook"
_AT_STEP = "StopAtStepHook"
_HOOKS = (_SENDING_HOOK, _AT_STEP)
_COLLECTIVE = (
    "BroadcastGlobalVariablesCallback",
    "MetricAverageCallback",
    "CommitStateCallback",  # with it, ranks agree on which of them there are
    _SENDING_HOOK,
)
_MONITORED = "tensorflow.compat.v1.train.MonitoredTrainingSession"


def find(context: Context) -> Iterator[Violation]:
    reported = set()
    for call, items, steering in _trainings(context):
        if context.facts.rank_tests.deciding(call) is not None:
            continue
        for item in items:
            names = {name.rsplit(".", 1)[-1] for name in context.facts.callback_items.classes(item)}
            found = next((name for name in steering if name in names), None)
            if item.by is None or found is None or item.node in reported:
                continue
            if others_get_it(context, item, items):
                continue
            reported.add(item.node)
            yield RESTRICTION.at(
                context,
                item.node,
                f"only some ranks get `{found}`: {_what_then(found)}; give it to all of them"
                + (", each with a folder of its own" if found == _BACKING else ""),
                related=[
                    context.related(item.by.test, "ranks differ here"),
                    context.related(call, "the fit" if steering is _STEERS else "the training"),
                ],
                fixes=[_fix(context, item) if found != _BACKING else None],
            )


def _trainings(context: Context) -> Iterator[tuple[ast.Call, list[CallbackItem], tuple[str, ...]]]:
    """What trains with callbacks or hooks, these, and which of them all ranks must have."""
    listed = context.facts.callback_items
    for fit in context.sites.fits:
        yield fit.call, listed.of(fit.call), _STEERS
    given = [(training.call, training.hooks) for training in context.sites.read_estimators.trainings]
    given += [(call, argument(call, "hooks")) for call in context.module.calls_of(_MONITORED)]
    for call, hooks in given:
        if hooks is not None:
            yield call, listed.of_list(hooks), _HOOKS


def others_get_it(context: Context, item: CallbackItem, items: list[CallbackItem]) -> bool:
    """Whether the ranks that a test leaves out get a callback as well, among those that some training has."""
    if item.by is None or any(context.drive.reaches(arm, set(item.made)) for arm in item.by.other):
        return True
    return any(_is_the_others(context, item, other) for other in items)


def _is_the_others(context: Context, item: CallbackItem, other: CallbackItem) -> bool:
    """Whether the ranks that a test leaves out get the same callback in their own list, or one that is made alike."""
    if other is item or item.by is None or other.by is None or other.by.test is not item.by.test:
        return False
    alike = context.text(other.node) == context.text(item.node)
    return set(other.made) == set(item.made) or (
        alike and any(context.drive.reaches(arm, set(other.made)) for arm in item.by.other)
    )


def _fix(context: Context, item: CallbackItem) -> Fix | None:
    """Takes `if hvd.rank() == 0:` from around the one statement that appends a callback."""
    statement = context.syntax.statement(item.node)
    around = context.syntax.parent.get(statement)
    if not isinstance(around, ast.If) or around.orelse or around.body != [statement] or item.by is None:
        return None
    if (
        around.test is not item.by.test
        or not isinstance(statement, ast.Expr)
        or not stands_alone(context, around)
    ):
        return None
    span = context.module.span(around)
    return Fix("Give it to all ranks", (Edit(span, context.document.source(statement)),))


def _what_then(name: str) -> str:
    if name == _BACKING:
        return "after an interruption they begin with a later epoch than the others, which then wait for them in vain"
    if name in _STOPS or name == _AT_STEP:
        return "when they stop, the others wait for them in vain"
    if name in _COLLECTIVE:
        return "they wait for the others in vain"
    return "their rate changes alone, and the ranks drift apart"


RESTRICTION = Restriction(
    "HVD311",
    "steered-by-one-rank",
    "callbacks that steer training must run on every rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
