"""HVD307 broadcast-every-step: weights should be broadcast once.

## What it protects
A broadcast sends all weights to all ranks. In every step that costs more than averaging the gradients does, and it hides that
ranks drift apart.

## When it is reported
On `broadcast_variables` in the innermost loop around a step, under no condition, or one that is always true (`step(x, True)`);
and in a `tf.function` under a variable of the script that is changed after the step: the function was traced with what it was
first, and goes on with that.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    hvd.broadcast_variables(model.variables, root_rank=0)  # HVD307
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
first = True

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)  # HVD307

for x in batches:
    step(x)
    first = False
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

@tf.function
def step(x, first):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)  # HVD307

for x in batches:
    step(x, True)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

@tf.function
def step(x, first):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)

step(next(batches), True)
for x in batches:
    step(x, False)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for step, (x, y) in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step == 0:
        hvd.broadcast_variables(model.variables, root_rank=0)
```

## Source
Horovod's guide for TensorFlow, step 6.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import Loop


def find(context: Context) -> Iterator[Violation]:
    steps = {
        loop for update in context.sites.updates if (loop := _innermost(context, update.call)) is not None
    }
    for call in context.facts.horovod.calls("broadcast_variables"):
        loop = _innermost(context, call)
        flag = _traced_flag(context, call)
        if flag is not None and loop is not None and loop in steps:
            yield RESTRICTION.at(
                context,
                call,
                f"this sends all weights in every step: `{context.text(flag)}` is read once, when the function is traced; "
                "give it to the function as an argument",
                related=[context.related(flag, "what it was when the function was traced")],
            )
            continue
        if loop is None or loop not in steps or _may_be_left_out(context, call, loop):
            continue
        yield RESTRICTION.at(
            context,
            call,
            "this sends all weights in every step: broadcast them once, in or after the first step",
        )


def _traced_flag(context: Context, call: ast.Call) -> ast.expr | None:
    """A variable of the script that is true at first, and decides in a `tf.function` whether something is sent."""
    function = context.syntax.function(call)
    around = context.syntax.conditions(call)
    if (
        function is None
        or len(around) != 1
        or not any(context.drive.runs_traced(way) >= 0 for way in context.ways(call))
    ):
        return None
    (test, field) = around[0]
    if (
        not isinstance(test.test, ast.Name)
        or field != "body"
        or context.syntax.function(test) is not function
    ):
        return None
    bindings = context.scopes.reaching(test.test)
    values = [b.value.value for b in bindings if isinstance(b.value, ast.Constant)]
    outside = all(context.syntax.function(b.statement) is not function for b in bindings)
    return test.test if outside and len(values) == len(bindings) > 1 and {*values} == {True, False} else None


def _innermost(context: Context, node: ast.AST) -> Loop | None:
    """The innermost loop around a place, on the way to it."""
    for way in context.ways(node):
        for frame in way:
            if frame.loops:
                return frame.loops[0]
    return None


def _may_be_left_out(context: Context, call: ast.Call, loop: Loop) -> bool:
    """Whether a condition decides in the loop, or the loop is left after it."""
    if any(isinstance(n, (ast.Break, ast.Return, ast.Continue)) for n in ast.walk(loop)):
        return True
    return any(_is_conditional(context, frame.node) for way in context.ways(call) for frame in way)


def _is_conditional(context: Context, node: ast.AST) -> bool:
    """Whether a condition decides that may be false: not a flag that is true wherever it comes from."""
    around = context.syntax.conditions(node)
    certain = bool(around) and all(_is_true(context, test, field) for test, field in around)
    return context.is_conditional(node) and not certain


def _is_true(context: Context, around: ast.AST, field: str) -> bool:
    if not isinstance(around, ast.If) or field != "body":
        return False
    nodes = [o.node for o in context.values.origins(around.test)]
    return bool(nodes) and all(isinstance(n, ast.Constant) and n.value is True for n in nodes)


RESTRICTION = Restriction(
    "HVD307",
    "broadcast-every-step",
    "weights should be broadcast once",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
