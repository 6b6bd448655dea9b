"""HVD307 broadcast-every-step: weights should be broadcast once.

## What it protects
A broadcast sends all weights to all ranks. In every step that costs more than averaging the gradients does, and it hides that
ranks drift apart.

## When it is reported
On `broadcast_variables` in the innermost loop around a step, under no condition, or one that is always true (`step(x, True)`,
`hvd.size() > 1`), or in all turns but the first few (`step > 0`), but not of `non_trainable_variables` alone;
and in a `tf.function` under a variable of the script, or an attribute of `self`, that is changed after the step: the function
was traced with what it was first, and goes on with that. Where the function itself changes it, that is a warning: if the
optimizer makes its variables in the first call, the function is traced twice, and the second time sends nothing.

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
    if step >= 0:
        hvd.broadcast_variables(model.variables, root_rank=0)  # HVD307
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()

class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
        self.sent = False

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        weights = model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        if not self.sent:
            hvd.broadcast_variables(model.variables, root_rank=0)  # HVD307
            self.sent = True

trainer = Trainer()
for x in batches:
    trainer.step(x)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()

class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
        self.sent = False

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        weights = model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        if not self.sent:
            hvd.broadcast_variables(model.variables, root_rank=0)
            self.sent = True

trainer = Trainer()
for x in batches:
    trainer.step(x)
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

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop, argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_STATISTICS = ("non_trainable_variables", "non_trainable_weights")


def find(context: Context) -> Iterator[Violation]:
    steps = {
        loop for update in context.sites.updates if (loop := _innermost(context, update.call)) is not None
    }
    told: set[ast.expr] = set()
    for call in context.facts.horovod.calls("broadcast_variables"):
        loop = _innermost(context, call)
        flag = _traced_flag(context, call)
        if flag is not None and loop is not None and loop in steps:
            read, within = flag
            if read in told:
                continue
            told.add(read)
            text = f"`{context.text(read)}` is read once, when the function is traced; give it to the function as an argument"
            yield RESTRICTION.at(
                context,
                call,
                # Where variables are made in the first call, the function is traced a second time, after the flag was changed.
                f"this sends the weights in every step or in none: {text}"
                if within
                else f"this sends all weights in every step: {text}",
                severity=Severity.WARNING if within else None,
                related=[context.related(read, "what it was when the function was traced")],
            )
            continue
        if loop is None or loop not in steps or _may_be_left_out(context, call, loop):
            continue
        if _sends_statistics(context, call):
            continue
        yield RESTRICTION.at(
            context,
            call,
            "this sends all weights in every step: broadcast them once, in or after the first step",
        )


def _sends_statistics(context: Context, call: ast.Call) -> bool:
    """Whether nothing is sent but what no gradient trains, as batch norm's statistics: nothing else makes them equal."""
    given = argument(call, "variables", 0)
    read = {n.attr for n in ast.walk(given) if isinstance(n, ast.Attribute)} if given is not None else set()
    return bool(read & {*_STATISTICS}) and not read & {*OF_MODEL}


def _traced_flag(context: Context, call: ast.Call) -> tuple[ast.expr, bool] | None:
    """A variable or an attribute of the script that decides in a `tf.function` whether something is sent, as it does at
    first, and whether the function itself changes it."""
    function = context.syntax.function(call)
    around = context.syntax.conditions(call)
    if (
        function is None
        or len(around) != 1
        or not any(context.drive.runs_traced(way) >= 0 for way in context.ways(call))
    ):
        return None
    (test, field) = around[0]
    negated = isinstance(test.test, ast.UnaryOp) and isinstance(test.test.op, ast.Not)
    flag = test.test.operand if isinstance(test.test, ast.UnaryOp) else test.test
    if field != "body" or context.syntax.function(test) is not function:
        return None
    bindings = _bindings(context, flag)
    values = [b.value.value for b in bindings if isinstance(b.value, ast.Constant)]
    if len(values) != len(bindings) or {*values} != {True, False}:
        return None
    within = [
        b.value.value  # type: ignore[union-attr]
        for b in bindings
        if context.syntax.function(b.statement) is function
    ]
    # What the function itself says must be what stops the sending: set to the other, the flag would be a temporary of it.
    return (flag, bool(within)) if all(value is negated for value in within) else None


def _bindings(context: Context, flag: ast.expr) -> list[Binding]:
    """Where a variable, or an attribute of `self`, is set."""
    if isinstance(flag, ast.Name):
        return list(context.scopes.reaching(flag))
    if isinstance(flag, ast.Attribute) and isinstance(flag.value, ast.Name) and flag.value.id == "self":
        return list(context.scopes.attributes.get(flag.attr, ()))
    return []


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
    if not isinstance(around, ast.If) or field not in ("body", "orelse"):
        return False
    answer = context.facts.certain_tests.answer(around.test, in_the_end=True)
    if answer is not None or field == "orelse":
        return answer is (field == "body")
    nodes = [o.node for o in context.values.origins(around.test)]
    certain = context.facts.certain_tests
    return bool(nodes) and all(
        isinstance(n, ast.expr) and certain.answer(n, in_the_end=True) is True for n in nodes
    )


RESTRICTION = Restriction(
    "HVD307",
    "broadcast-every-step",
    "weights should be broadcast once",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
