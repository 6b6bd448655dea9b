"""HVD317 summed-and-scaled: gradients that are summed must not meet a rate that grows with the number of ranks.

## What it protects
The sum of N gradients is N times their average. With a rate that is multiplied by size() as well, a step is N² times as long.
`Adasum` decides by itself how far to go, and takes the rate of one process.

## When it is reported
On a wrapper with `op=hvd.Sum`, `op=hvd.Adasum` (also where an option chooses it) or `average=False` around an optimizer whose
rate is multiplied by size(), or around a tape (or on the `allreduce` of gradients) in a script with one such optimizer, unless
something is divided by size(). Where the rate doesn't grow, the sum of means is right: it is the average at a rate of size()
times.

## Quick fix
Leave `* hvd.size()` out of the rate.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Sum)  # HVD317
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape, op=hvd.Sum)  # HVD317
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Adasum if "--adasum" in sys.argv else hvd.Average)  # HVD317
```

```python
import json
import tensorflow as tf
import horovod.tensorflow.keras as hvd
from horovod.tensorflow import Sum

hvd.init()
settings = json.load(open("settings.json"))
rate = settings["rate"] * hvd.size()
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate), op=Sum)  # HVD317
```

## Near misses
```python
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
adasum = "--adasum" in sys.argv
optimizer = tf.keras.optimizers.SGD(0.01 * (1 if adasum else hvd.size()))
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Adasum if adasum else hvd.Average)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Sum)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, op=hvd.Average)
```

## Source
Horovod's guides for TensorFlow, step 3, and for AdaSum.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES, rates_of
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.mending import without_size
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation

_OPS = ("Sum", "Adasum")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for wrapper in (*use.wrapped, *use.calls(*TAPES), *by_hand(context)):
        if not sums(context, wrapper):
            continue
        scaled = [
            r
            for r in (first_rate(context, r) for r in _rates(context, wrapper))
            if use.factor(r) == 1 or _is_times_size(context, r)
        ]
        if not scaled or _divides(context):
            continue
        op = argument(wrapper, "op") or argument(wrapper, "average")
        yield RESTRICTION.at(
            context,
            wrapper,
            f"with `{context.text(op) if op is not None else ''}` the rate must not grow with the number of ranks as well: "
            "leave its `size()` out, or average",
            related=[context.related(scaled[0], "the rate")],
            fixes=[_fix(context, scaled)],
        )


def by_hand(context: Context) -> list[ast.Call]:
    """The calls by which a script averages, or adds up, gradients itself."""
    together = context.facts.collectives.all
    calls = context.facts.horovod.calls("allreduce", "grouped_allreduce")
    return [c for c in calls if c in together and together[c].trains]


def _is_times_size(context: Context, rate: ast.expr) -> bool:
    """Whether a rate is a number that isn't seen, as one of `params`, times the number of ranks."""
    made = [o.node for o in context.values.origins(rate) if not o.path]
    return bool(made) and all(
        isinstance(e, ast.BinOp)
        and isinstance(e.op, ast.Mult)
        and any(context.facts.horovod.is_call(side, "size") for side in (e.left, e.right))
        and context.facts.horovod.factor(e) is None
        for e in made
    )


def sums(context: Context, wrapper: ast.Call) -> bool:
    """Whether a wrapper adds gradients up, or by Adasum, rather than averages them."""
    op, average = argument(wrapper, "op"), argument(wrapper, "average")
    if op is None:
        return isinstance(average, ast.Constant) and average.value is False
    return any(
        (context.names.of(e) or "").startswith("horovod.") and context.names.last(e) in _OPS
        for e in _choices(context, op)
    )


def _choices(context: Context, op: ast.expr) -> list[ast.expr]:
    """What an operation may be: `hvd.Adasum if args.adasum else hvd.Average` is either."""
    if isinstance(op, ast.IfExp):
        return [*_choices(context, op.body), *_choices(context, op.orelse)]
    made = [o.node for o in context.values.origins(op) if isinstance(o.node, ast.IfExp) and not o.path]
    return [op, *(e for choice in made if choice is not op for e in _choices(context, choice))]


def _rates(context: Context, wrapper: ast.Call) -> list[ast.expr]:
    """The rates of the optimizers that apply what a wrapper gives: of a tape, the only optimizer of the script."""
    use = context.facts.horovod
    if wrapper in use.wrapped:
        return list(use.rates(wrapper))
    made = [call for call in context.module.optimizers if not use.name_of(call)]
    return list(rates_of(made[0])) if len(made) == 1 else []


def _divides(context: Context) -> bool:
    """Whether anything is divided by the number of ranks: a loss may be."""
    return any(
        isinstance(n.op, ast.Div)
        and not isinstance(n.right, ast.JoinedStr)  # a path
        and _grows_with_size(context, n.right)
        for n in context.syntax.every(ast.BinOp)
    )


def _grows_with_size(context: Context, e: ast.expr) -> bool:
    """Whether the number of ranks is in a value, and not only as what others are divided by, as the steps of a warm-up."""
    calls = [n for n in context.values.depends([e], 50) if context.facts.horovod.is_call(n, "size")]
    around = [context.syntax.parent.get(c) for c in calls]
    return any(
        not (isinstance(a, ast.BinOp) and isinstance(a.op, (ast.Div, ast.FloorDiv)) and a.right is c)
        for a, c in zip(around, calls, strict=True)
    )


def _fix(context: Context, scaled: list[ast.expr]) -> Fix | None:
    edits = without_size(context, scaled[0]) if len(scaled) == 1 else None
    return Fix("Leave the rate as it is for one rank", edits) if edits else None


RESTRICTION = Restriction(
    "HVD317",
    "summed-and-scaled",
    "gradients that are summed must not meet a rate that grows with the number of ranks",
    Severity.WARNING,
    __doc__ or "",
    find,
)
