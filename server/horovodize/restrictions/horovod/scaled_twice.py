"""HVD309 rate-scaled-twice: the learning rate must be multiplied by the number of ranks once.

## What it protects
Scaled twice, the rate grows with the square of the number of ranks: on 8 ranks it is 64 times the original, and training
diverges.

## When it is reported
On the rate of a wrapped optimizer, or of one that trains with a wrapped tape, which is multiplied by `size()` more than once
on its only way, also where a setting that it is made of has grown before (`args.lr`, `config["rate"]`, a field of a data
class); also of PyTorch's optimizers. On what sets the rate of such an optimizer to `size()` times what it has, or to a rate
that is multiplied by it more than once itself, as the function of a `LearningRateScheduler` may give.

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

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
optimizer.learning_rate = optimizer.learning_rate * hvd.size()  # HVD309
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
config = {"rate": 0.01}
config["rate"] *= hvd.size()
optimizer = tf.keras.optimizers.SGD(config["rate"] * hvd.size())  # HVD309
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
config = {"rate": 0.01}
if weak_scaling:
    config["rate"] *= hvd.size()
optimizer = tf.keras.optimizers.SGD(config["rate"] * hvd.size())
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01)
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
optimizer.learning_rate = optimizer.learning_rate * hvd.size()
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rate = 0.01
optimizer = tf.keras.optimizers.SGD(rate * hvd.size())
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
if adapts:
    optimizer.learning_rate = optimizer.learning_rate * hvd.size()
optimizer.learning_rate = rate * hvd.size()
optimizer.learning_rate.assign(optimizer.learning_rate * 0.5)
```

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

from horovodize.facts.horovod.horovod_use import rates_of
from horovodize.interleaving.changes import Changes
from horovodize.python.syntax import argument, is_main_guard
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.first_rates import first_rate
from horovodize.restrictions.horovod.given_rates import SCHEDULER, given_rates
from horovodize.restrictions.horovod.mending import without_size
from horovodize.restrictions.horovod.rate_not_scaled import averaging
from horovodize.restrictions.horovod.scaled_settings import grown_before
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation

_BEHIND = 200  # nodes that a rate is made of


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.calls("size"):
        return
    for call in context.syntax.calls if use.of_torch else context.module.optimizers:
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
    if not use.of_torch:
        yield from _set_again(context)
        yield from _set_twice_as_large(context)


def _set_again(context: Context) -> Iterator[Violation]:
    """Where the rate that an optimizer has is set to size() times itself, although it has grown already."""
    use = context.facts.horovod
    if not all(use.most(first_rate(context, r)) == 1 for _, given in averaging(context) for r in given):
        return
    if not any(given for _, given in averaging(context)):
        return
    for node in _settings(context):
        value = _set_to(context, node)
        if value is not None and _is_done_once(context, node) and use.runs(node):
            yield RESTRICTION.at(
                context,
                value,
                "this multiplies the rate of the optimizer, which has grown already, by the number of ranks once more: "
                "leave it out",
            )


def _set_twice_as_large(context: Context) -> Iterator[Violation]:
    """Where a rate is set, or given by the function of a scheduler, that is multiplied by size() more than once itself."""
    use = context.facts.horovod
    if not any(True for _ in averaging(context)):
        return
    given: list[tuple[ast.expr, ast.expr]] = []
    given += [(call, e) for call in context.module.calls_of(SCHEDULER) for e in given_rates(context, call)]
    given += [
        (found[1], found[1]) for node in _settings(context) if (found := _rate_set(context, node)) is not None
    ]
    for where, value in given:
        if isinstance(value, ast.Constant) or any(
            _is_rate(context, n) for n in ast.walk(value) if isinstance(n, ast.Attribute)
        ):
            continue  # what the optimizer has at that time isn't seen
        if use.most(value) > 1 and use.runs(where) and not _divides_by_size(context, value):
            yield RESTRICTION.at(
                context,
                value,
                "this rate is multiplied by the number of ranks more than once: leave one of the factors out",
            )


def _settings(context: Context) -> list[ast.AST]:
    """Where an attribute is set, or something by `assign` or `set_value`."""
    assigned = context.syntax.every(ast.Assign, ast.AugAssign)
    targets = [(n, n.target if isinstance(n, ast.AugAssign) else n.targets[0]) for n in assigned]
    return [
        *context.module.calls_called("assign", "set_value"),
        *[n for n, target in targets if isinstance(target, ast.Attribute)],
    ]


def _divides_by_size(context: Context, value: ast.expr) -> bool:
    """Whether a part of a value is a share of something, as the steps of a warm-up: `rate * step / (steps // hvd.size())`."""
    divided = (
        n
        for n in context.values.depends([value], _BEHIND)
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.FloorDiv))
    )
    return any(
        context.facts.horovod.depends_on(n.right, "size", "local_size", limit=_BEHIND) for n in divided
    )


def _is_done_once(context: Context, node: ast.AST) -> bool:
    """Whether a script comes to a place on one way, whatever happens, and once."""
    ways = context.ways(node)
    return (
        len(ways) == 1
        and ways[0][-1].function is None
        and not any(f.loops for f in ways[0])
        and all(is_main_guard(test) for f in ways[0] for test, _ in context.syntax.conditions(f.node))
    )


def _set_to(context: Context, node: ast.AST) -> ast.expr | None:
    """The number of ranks times the rate that an optimizer has, where it is set to that: `opt.lr = opt.lr * hvd.size()`."""
    use = context.facts.horovod
    match node:
        case ast.AugAssign(target=ast.Attribute() as rate, op=ast.Mult(), value=value):
            return value if _is_rate(context, rate) and use.is_call(value, "size") else None
    match _rate_set(context, node):
        case (rate, ast.BinOp(op=ast.Mult()) as value):
            for one, other in ((value.left, value.right), (value.right, value.left)):
                if use.is_call(other, "size") and _is_what_it_has(context, one, rate):
                    return value
    return None


def _rate_set(context: Context, node: ast.AST) -> tuple[ast.Attribute, ast.expr] | None:
    """The rate of an optimizer that is set, and to what: `opt.lr = …`, `opt.lr.assign(…)`, `K.set_value(opt.lr, …)`."""
    match node:
        case ast.Assign(targets=[ast.Attribute() as rate], value=value):
            pass
        case ast.Call(func=ast.Attribute(value=ast.Attribute() as rate, attr="assign"), args=[value]):
            pass
        case ast.Call(args=[ast.Attribute() as rate, value]) if _sets_value(context, node):
            pass
        case _:
            return None
    return (rate, value) if _is_rate(context, rate) else None


def _is_rate(context: Context, e: ast.expr) -> bool:
    return Changes(context.facts).is_rate(e)


def _sets_value(context: Context, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (context.names.of(node.func) or "").endswith("backend.set_value")


def _is_what_it_has(context: Context, e: ast.expr, rate: ast.expr) -> bool:
    """Whether an expression is what a variable holds: itself, `K.get_value(it)`, `float(it)`, `it.numpy()`."""
    match e:
        case ast.Call(func=ast.Attribute(value=inner, attr="numpy" | "read_value" | "value"), args=[]):
            return _is_what_it_has(context, inner, rate)
        case ast.Call(args=[inner]) if context.names.last(e.func) in ("get_value", "float", "eval"):
            return _is_what_it_has(context, inner, rate)
    return context.text(e) == context.text(rate)


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
    """What a rate is before it grows: each that calls pass for a parameter, the first one of a schedule, or a setting that has
    grown itself."""
    bound = context.scopes.reaching(rate) if isinstance(rate, ast.Name) else []
    if bound and all(b.kind == "parameter" for b in bound):
        yield from (first_rate(context, e) for b in bound for e in context.values.passed(b))
    else:
        yield first_rate(context, rate)
        yield from grown_before(context, rate)


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
