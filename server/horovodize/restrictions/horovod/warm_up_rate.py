"""HVD310 warm-up-rate: a warm-up must end at the rate that the optimizer has.

## What it protects
`LearningRateWarmupCallback` starts at `initial_lr` divided by size(), and ends at `initial_lr`. It sets the optimizer's rate,
so given the rate of one process, it takes back the scaling of the optimizer, for the rest of the training.

## When it is reported
On a constant `initial_lr` of `LearningRateWarmupCallback` or `LearningRateScheduleCallback` where the wrapped optimizer's rate
is multiplied by size(), and on a `LearningRateScheduler` whose function, or object, gives rates without size() there; on the
same of a callback of the script's own that sets the rate, or of a loop that trains. Also, as information and once in a file,
on one without `initial_lr`: Horovod requires it since 0.21.

## Quick fix
Multiply `initial_lr` by `size()`, where it is what the optimizer's rate is without.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
warm_up = hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.01, warmup_epochs=3)  # HVD310
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
warm_up = hvd.callbacks.LearningRateWarmupCallback(warmup_epochs=3)  # HVD310
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def rate(epoch):
    return 0.01 if epoch < 10 else 0.001

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[tf.keras.callbacks.LearningRateScheduler(rate)])  # HVD310
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def rate(epoch, before):
    return before if epoch < 10 else before * 0.1

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[tf.keras.callbacks.LearningRateScheduler(rate)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
warm_up = hvd.callbacks.LearningRateWarmupCallback(initial_lr=rate, warmup_epochs=3)
```

## Source
`_keras/callbacks.py` of Horovod 0.28.1; Horovod's pull requests 88 and 2459.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving.changes import Changes
from horovodize.python.syntax import argument, has_unpacking
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.given_rates import SCHEDULER, given_rates
from horovodize.restrictions.horovod.mending import times_size
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation

_LIMIT = 200


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    scaled = [rate for wrapper in use.wrapped for rate in use.rates(wrapper) if use.factor(rate) == 1]
    calls = use.calls("LearningRateWarmupCallback", "LearningRateScheduleCallback")
    missing = [call for call in calls if argument(call, "initial_lr", 0) is None and not has_unpacking(call)]
    if missing:
        yield RESTRICTION.at(
            context,
            missing[0],
            "Horovod requires `initial_lr` here since 0.21: give it the scaled rate of the optimizer",
            severity=Severity.INFORMATION,
            related=[context.related(call, "here, too") for call in missing[1:]],
        )
    for scheduler in context.module.calls_of(SCHEDULER) if scaled else ():
        rates = given_rates(context, scheduler)
        if rates and all(_is_of_one_process(context, rate) for rate in rates):
            yield RESTRICTION.at(
                context,
                scheduler,
                "this sets rates of one process, and takes back the scaling of the optimizer: multiply them by `hvd.size()`",
                related=[context.related(rates[0], "a rate"), context.related(scaled[0], "the scaled rate")],
            )
    for node, rate in _set_by_callbacks(context) if scaled else ():
        if _is_of_one_process(context, rate) and not _goes_by_rate(context, rate):
            yield RESTRICTION.at(
                context,
                node,
                "this sets rates of one process, and takes back the scaling of the optimizer: multiply them by `hvd.size()`",
                related=[context.related(scaled[0], "the scaled rate")],
            )
    for call in calls:
        initial = argument(call, "initial_lr", 0)
        if initial is not None and not scaled:
            scaled = _times_this(context, initial)
        if initial is not None and scaled and (use.factor(initial) == 0 or _times_this(context, initial)):
            yield RESTRICTION.at(
                context,
                call,
                "this sets the rate of one process, and takes back the scaling of the optimizer: give it the scaled rate",
                related=[context.related(scaled[0], "the scaled rate")],
                fixes=[_fix(context, initial, scaled)],
            )


def _times_this(context: Context, initial: ast.expr) -> list[ast.expr]:
    """The rates of wrapped optimizers that are this one, whatever it is, times the number of ranks: `lr * hvd.size()`."""
    use, found = context.facts.horovod, list[ast.expr]()
    for rate in (rate for wrapper in use.wrapped for rate in use.rates(wrapper)):
        if not isinstance(rate, ast.BinOp) or not isinstance(rate.op, ast.Mult):
            continue
        for side, other in ((rate.left, rate.right), (rate.right, rate.left)):
            if use.is_call(side, "size") and _is_same_name(context, other, initial):
                found.append(rate)
    return found


def _is_same_name(context: Context, one: ast.expr, other: ast.expr) -> bool:
    """Whether two names are bound to the same at both places."""
    if not isinstance(one, ast.Name) or not isinstance(other, ast.Name) or one.id != other.id:
        return False
    bound = [b.anchor for b in context.scopes.reaching(one)]
    return bool(bound) and bound == [b.anchor for b in context.scopes.reaching(other)]


def _set_by_callbacks(context: Context) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where callbacks of the script's own set the rate in a `fit`, or a loop that trains does, and to what."""
    changes = Changes(context.facts)
    for call in context.module.calls_called("set_value", "assign"):
        if call.args and changes.of(call) == "rate" and _is_while_training(context, call):
            yield call, call.args[-1]
    for s in context.syntax.every(ast.Assign):
        if not isinstance(s.value, ast.Call) and changes.of_assignment(s) == "rate":
            if _is_while_training(context, s):
                yield s, s.value


def _is_while_training(context: Context, node: ast.AST) -> bool:
    """Whether something is done by a callback, or in a loop in which something trains."""
    if context.facts.hooks.around(node) is not None:
        return True
    loops = {loop for way in context.ways(node) for frame in way for loop in frame.loops}
    return any(
        loop in loops
        for site in context.training_sites
        for way in context.ways(site)
        for f in way
        for loop in f.loops
    )


def _goes_by_rate(context: Context, rate: ast.expr) -> bool:
    """Whether a rate is made of the one before, which is scaled: `get_value(optimizer.lr) * 0.5`."""
    behind = context.values.depends([rate], _LIMIT)
    return any(
        (isinstance(n, ast.Attribute) and n.attr in ("lr", "learning_rate", "optimizer"))
        or (isinstance(n, ast.Call) and context.names.last(n.func) in ("get_value", "get", "numpy"))
        for n in behind
    )


def _is_of_one_process(context: Context, rate: ast.expr) -> bool:
    """Whether a rate is surely made without the number of ranks."""
    if isinstance(rate, ast.IfExp):
        return _is_of_one_process(context, rate.body) and _is_of_one_process(context, rate.orelse)
    if isinstance(rate, ast.Constant):
        return isinstance(rate.value, float)
    return context.facts.horovod.factor(rate) == 0


def _fix(context: Context, initial: ast.expr, scaled: list[ast.expr]) -> Fix | None:
    """The scaled rate, where the optimizer's is this one times the number of ranks."""
    products = [rate for rate in scaled if isinstance(rate, ast.BinOp)]
    factors = [side for product in products for side in (product.left, product.right)]
    if not any(context.text(side) == context.text(initial) for side in factors):
        return None
    edits = times_size(context, initial)
    return Fix("Multiply it by the number of ranks", edits) if edits else None


RESTRICTION = Restriction(
    "HVD310",
    "warm-up-rate",
    "a warm-up must end at the rate that the optimizer has",
    Severity.WARNING,
    __doc__ or "",
    find,
)
