"""HVD326 compiled-by-xla: what averages gradients must not be compiled by XLA.

## What it protects
Horovod's operations are none of XLA's: the first step stops with "Detected unsupported operations", and names an operation that
the script does not.

## When it is reported
On `jit_compile=True` of a `tf.function` that runs a collective, takes gradients from a distributed tape or minimizes by a
distributed optimizer, and of the `compile` of a model with such an optimizer. Not in a script that turns on Horovod's
operations for XLA, which some builds have (`HOROVOD_ENABLE_XLA_OPS`).

## Quick fix
`jit_compile=False`. Functions that are called from there, such as the model's own, may still be compiled.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

@tf.function(jit_compile=True)  # HVD326
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
model.compile(optimizer, "mse", jit_compile=True)  # HVD326
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

@tf.function(jit_compile=True)
def loss_of(x, y):
    return tf.reduce_mean((model(x) - y) ** 2)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(x, y)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import os
import tensorflow as tf
import horovod.tensorflow as hvd

os.environ["HOROVOD_ENABLE_XLA_OPS"] = "1"
hvd.init()

@tf.function(jit_compile=True)
def mean(x):
    return hvd.allreduce(x)
```

## Source
Measured with TensorFlow 2.15.1 and 2.21.0 ("unsupported operations", HorovodAllreduce); `xla_mpi_ops.cc` of Horovod 0.28.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import COLLECTIVES, TAPES, WRAPPERS
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_OWN_OPERATIONS = "HOROVOD_ENABLE_XLA_OPS"


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if not use.calls(*COLLECTIVES, *TAPES, *WRAPPERS) or _has_own_operations(context):
        return
    running = set[ast.AST](_running(context))
    for function, given in context.facts.drive.compiled:
        if _is_on(given) and any(context.facts.drive.reaches(s, running) for s in function.body):
            yield _violation(context, given, "this function runs Horovod's operations")
    for site in context.sites.compiles:
        chosen = argument(site.call, "jit_compile")
        wrapped = [a.node for e in site.optimizers for a in context.facts.optimizers.arrivals(e)]
        if chosen is not None and _is_on(chosen) and any(use.is_call(n, *WRAPPERS) for n in wrapped):
            yield _violation(context, chosen, "this model's steps run Horovod's operations")


def _running(context: Context) -> Iterator[ast.Call]:
    """Where Horovod's operations run: collectives, gradients of its tapes, updates by its optimizers."""
    use = context.facts.horovod
    yield from use.calls(*COLLECTIVES)
    for gradient in context.sites.training_gradients:
        tape = gradient.func.value if isinstance(gradient.func, ast.Attribute) else None
        if tape is not None and any(use.is_call(c, *TAPES) for c in context.values.calls(tape)):
            yield gradient
    for update in context.sites.updates:
        arrivals = context.facts.optimizers.arrivals(update.optimizer) if update.optimizer is not None else ()
        if update.method == "minimize" and any(use.is_call(a.node, *WRAPPERS) for a in arrivals):
            yield update.call


def _is_on(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and given.value is True


def _has_own_operations(context: Context) -> bool:
    return _OWN_OPERATIONS in [n.value for n in context.syntax.every(ast.Constant)]


def _violation(context: Context, given: ast.expr, what: str) -> Violation:
    return RESTRICTION.at(
        context,
        given,
        f"{what}, which XLA can't compile: the first step stops with an error; use `jit_compile=False`",
        fixes=[Fix("Don't compile it by XLA", (Edit(context.module.span(given), "False"),))],
    )


RESTRICTION = Restriction(
    "HVD326",
    "compiled-by-xla",
    "what averages gradients must not be compiled by XLA",
    Severity.WARNING,
    __doc__ or "",
    find,
)
