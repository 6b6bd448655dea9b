"""HVD109 changed-global: a global optimizer that a function trains with must stay the one it was.

## What it protects
A function that trains with a global optimizer is broadcast once in the loop that calls it (rule G2), after the first step. An
optimizer, and the model with it, that is made again in each turn of that loop comes too late for it: each rank goes on with
its own.

## When it is reported
Where a function of this file takes a GradientTape step with a global optimizer, and the global is assigned inside the loop
that drives this step. Assigned before the loop, in a loop around it (for each fold), between two of them, or in both arms of a
choice it is no violation: every optimizer is scaled where it is made, and each loop has a broadcast of its own. Order is none
either: what counts is the value when the function is called. Strict mode also reports, as printed, globals that are assigned
twice or after the function's definition.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for x, y in batches:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)  # HVD109
    train_step(x, y)
```

## Near misses
```python
import tensorflow as tf


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
for x, y in batches:
    train_step(x, y)
optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in batches:
    train_step(x, y)
for fold in range(5):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)
    for x, y in batches:
        train_step(x, y)
```

## Source
Seed 2.1, restriction 9. Lifted for globals that are defined later, and for those that change between loops: the seed's rules
know one optimizer by its name in Σ, here each is followed from where it is made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    reported: set[ast.AST] = set()
    for update in context.sites.updates:
        name, function = update.optimizer, context.syntax.function(update.call)
        if update.step_of is not None or function is None or not isinstance(name, ast.Name):
            continue
        if context.scopes.lookup(name.id, name) is not context.module.tree:
            continue
        made = [b for b in context.scopes.names[context.module.tree][name.id] if _makes_optimizer(context, b)]
        around = [[turn for frame in way for turn in frame.loops] for way in context.ways(update.call)]
        driving = {turns[0] for turns in around if turns}
        for i, b in enumerate(made):
            if b.anchor in reported:
                continue
            if driving.intersection(context.syntax.loops(b.statement)[:1]):
                reported.add(b.anchor)
                yield RESTRICTION.at(
                    context,
                    b.statement,
                    f"`{name.id}` is made again in the loop that trains with it through `{function.name}`: only the first is "
                    "broadcast; train with each in a function that makes it",
                    related=[context.related(update.call, "trains here")],
                )
            elif context.strict and (i or b.statement.lineno > function.lineno):  # type: ignore[attr-defined]
                reported.add(b.anchor)
                when = "again" if i else f"after `{function.name}`, which uses it"
                yield RESTRICTION.at(
                    context,
                    b.statement,
                    f"the global optimizer `{name.id}` is assigned {when}",
                    severity=Severity.INFORMATION,
                )


def _makes_optimizer(context: Context, b: Binding) -> bool:
    return (
        b.kind == "assign"
        and b.value is not None
        and any(context.module.is_optimizer(c) for c in context.values.calls(b.value))
    )


RESTRICTION = Restriction(
    "HVD109",
    "changed-global",
    "a global optimizer that a function trains with must stay the one it was",
    Severity.WARNING,
    __doc__ or "",
    find,
)
