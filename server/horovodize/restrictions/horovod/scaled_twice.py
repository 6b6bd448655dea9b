"""HVD309 rate-scaled-twice: the learning rate must be multiplied by the number of ranks once.

## What it protects
Scaled twice, the rate grows with the square of the number of ranks: on 8 ranks it is 64 times the original, and training
diverges.

## When it is reported
On the rate of a wrapped optimizer, or of one that trains with a wrapped tape, which is multiplied by `size()` more than once
on its only way; also of PyTorch's optimizers.

## Quick fix
Leave out a `* hvd.size()` that is written in the rate.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
optimizer = tf.keras.optimizers.SGD(rate * hvd.size())  # HVD309
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
rate *= hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")  # HVD309
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 * hvd.size()
if averages_by_itself:
    rate *= hvd.size()
rate /= hvd.size()
rate *= hvd.size()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01 / hvd.size() * hvd.size()
optimizer = tf.keras.optimizers.SGD(rate * hvd.size())
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

## Source
Horovod's guide for TensorFlow, step 3.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod_use import rates_of
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.mending import without_size
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.summary.syntax import argument


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.calls("size"):
        return
    for call in context.syntax.calls:
        for rate in _rates(context, call):
            if isinstance(rate, (ast.Constant, ast.List, ast.Tuple)):
                continue
            first = first_rate(context, rate)
            if use.most(first) > 1 or _is_scaled_before(context, rate):
                yield RESTRICTION.at(
                    context,
                    first,
                    "this rate is multiplied by the number of ranks more than once: leave one of the factors out",
                    fixes=[_fix(context, first)] if use.factor(first) == 2 else [],
                )


def _rates(context: Context, call: ast.Call) -> Iterator[ast.expr]:
    """The rate that a call makes an optimizer with; PyTorch's are given the weights first."""
    name = context.names.of(call.func) or ""
    if context.facts.horovod.of_torch:
        if name.startswith("torch.optim.") and not name.startswith("torch.optim.lr_scheduler."):
            yield from (rate for rate in [argument(call, "lr", 1)] if rate is not None)
    elif context.module.is_optimizer(call) and not name.startswith("horovod."):
        yield from rates_of(call)


def _is_scaled_before(context: Context, rate: ast.expr) -> bool:
    """Whether a rate is size() times one that has grown already: of a schedule, or that a call passes for a parameter."""
    use = context.facts.horovod
    for made in (o.node for o in context.values.origins(rate) if not o.path):
        if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Mult):
            continue
        for one, other in ((made.left, made.right), (made.right, made.left)):
            if use.is_call(other, "size") and any(use.most(e) > 0 for e in _before(context, one)):
                return True
    return False


def _before(context: Context, rate: ast.expr) -> Iterator[ast.expr]:
    """What a rate is before it grows: each that calls pass for a parameter, or the first one of a schedule."""
    bound = context.scopes.reaching(rate) if isinstance(rate, ast.Name) else []
    if bound and all(b.kind == "parameter" for b in bound):
        yield from (first_rate(context, e) for b in bound for e in context.values.passed(b))
    else:
        yield first_rate(context, rate)


def _fix(context: Context, rate: ast.expr) -> Fix | None:
    edits = without_size(context, rate)
    return Fix("Multiply it once", edits) if edits else None


RESTRICTION = Restriction(
    "HVD309",
    "rate-scaled-twice",
    "the learning rate must be multiplied by the number of ranks once",
    Severity.WARNING,
    __doc__ or "",
    find,
)
