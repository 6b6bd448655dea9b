"""HVD204 function-value: a function that trains must be called by its name.

## What it protects
Which loop drives a training step decides where it is broadcast, and all ranks must take their steps in one order. A function
that is handed to code that can't be seen is called nobody knows when, and one that runs in a thread or another process takes
its steps in no order at all, or outside the rank.

## When it is reported
Where a function that trains is handed to a thread, a process or an executor; and where one that takes a GradientTape step
without a loop of its own is handed to another module's function, kept in a list, a dict or an attribute that nothing in this
file calls. Functions handed to functions of this file, to `tf.function`, `app.run` and the like are followed, and those that do
not train (`dataset.map(f)`) are none of our business. Strict mode reports every function that is used as a value.

## Quick fix
None.

## Example that breaks it
```python
import threading
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


def train():
    model.fit(x, y)


threading.Thread(target=train).start()  # HVD204
```

```python
import tensorflow as tf
from my_training import run_epochs

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


run_epochs(train_step, batches)  # HVD204
```

## Near misses
```python
import tensorflow as tf
from absl import app

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def run(step, data):
    for x, y in data:
        step(x, y)


def main(_):
    dataset = tf.data.Dataset.range(8).map(scale)
    run(tf.function(train_step), dataset)


def scale(x):
    return x / 8, x


app.run(main)
```

```python
import tensorflow as tf


def model_fn(features, labels, mode):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(features) - labels) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    step = optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
tf.estimator.Estimator(model_fn)
```

## Source
Seed 3.1, restriction 4. Lifted for functions that do not train, and for those that can be followed to their calls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.python.syntax import Function
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind

_CONCURRENT = re.compile(
    r"^(Thread|Timer|Process|Pool|ThreadPool|ThreadPoolExecutor|ProcessPoolExecutor|start_new_thread)$"
)
_FOLLOWED = (
    "tensorflow.function", "functools.partial", "functools.wraps", "fire.Fire",
    "tensorflow.estimator.Estimator", "tensorflow.compat.v1.estimator.Estimator",  # they call their model function
)  # fmt: skip
_EXECUTES = (
    "submit",
    "map",
    "apply",
    "apply_async",
    "map_async",
    "starmap",
    "imap",
    "imap_unordered",
    "run_in_executor",
)


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    trained = context.training_functions
    steps = _steps_without_loop(context)
    for function, use in _used_as_values(
        context, set(context.syntax.functions) if context.strict else trained
    ):
        parent, severity = _holder(context, use), Severity.WARNING
        concurrent = isinstance(parent, ast.Call) and _runs_concurrently(context, parent)
        if concurrent and function in trained:
            message = (
                f"`{function.name}` trains, and runs beside the main program here; train in the main thread"
            )
        elif function in steps and _is_lost(context, parent) and not _is_mapped(context, use):
            message = f"`{function.name}` trains, and where it is called can't be seen; call it in a loop of this file"
        elif context.strict:
            message = f"the function `{function.name}` is used as a value; call it by its name"
            severity = Severity.INFORMATION
        else:
            continue
        yield RESTRICTION.at(
            context, use, message, severity=severity, related=[context.related(function, "the function")]
        )


def _steps_without_loop(context: Context) -> set[Function]:
    """The functions on ways to a GradientTape step on which no loop is seen."""
    found: set[Function] = set()
    for loop in context.loops:
        if loop.kind is LoopKind.GRADIENT_TAPE:
            for way in context.ways(loop.node):
                if not any(frame.loops for frame in way):
                    found.update(frame.function for frame in way if frame.function is not None)
    return found


def _used_as_values(context: Context, functions: set[Function]) -> Iterator[tuple[Function, ast.expr]]:
    """Uses of functions other than calls."""
    for node in context.loads(f.name for f in functions):
        parent = context.syntax.parent.get(node)
        if (isinstance(parent, ast.Call) and parent.func is node) or _is_decorator(context, node):
            continue
        if isinstance(node, ast.Attribute):
            owners = context.values.receiver(node.value)
            for f in functions:
                if f.name == node.attr and context.syntax.parent[f] in owners:
                    yield f, node
                    break
        else:
            for b in context.scopes.reaching(node):
                if b.kind == "def" and b.statement in functions:
                    yield b.statement, node
                    break


def _is_decorator(context: Context, node: ast.AST) -> bool:
    return context.syntax.field[node] == "decorator_list"


def _holder(context: Context, use: ast.expr) -> ast.AST | None:
    """What a value is put into: a call for an argument, a container, an assignment."""
    parent = context.syntax.parent.get(use)
    return context.syntax.parent.get(parent) if isinstance(parent, ast.keyword) else parent


def _runs_concurrently(context: Context, call: ast.Call) -> bool:
    last = context.names.last(call.func)
    if _CONCURRENT.match(last):
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr in _EXECUTES:
        return any(
            _CONCURRENT.match(context.names.last(made.func)) for made in context.values.calls(call.func.value)
        )
    return False


def _is_lost(context: Context, parent: ast.AST | None) -> bool:
    """Whether a value goes where it can't be followed."""
    if isinstance(parent, ast.Call):
        name = context.names.of(parent.func) or ""
        if context.values.callee(parent) is not None or name.endswith((".run", ".main")):
            return False
        return name not in _FOLLOWED
    return isinstance(parent, (ast.List, ast.Tuple, ast.Dict, ast.Set))


def _is_mapped(context: Context, use: ast.expr) -> bool:
    """Whether a function is given to `map`, and distributing makes a loop of that."""
    mapping = context.buries.mapping(use)
    return mapping is not None and context.buries.comes_out(mapping)


RESTRICTION = Restriction(
    "HVD204",
    "function-value",
    "a function that trains must be called by its name",
    Severity.WARNING,
    __doc__ or "",
    find,
)
