"""HVD109 changed-global: a global optimizer that a function trains with must stay the one it was.

## What it protects
A function that trains with a global optimizer broadcasts it once, after its first step (rule G2), and a `@tf.function` keeps
the optimizer that it saw when it was traced. An optimizer put in its place later is not broadcast with its model: the ranks
go on with models that differ.

## When it is reported
Where a function of this file takes a GradientTape step with a global optimizer that the module (or a `global` statement)
assigns again, unless the two assignments are branches of one choice. Order alone is no violation: what counts is the value
when the function is called. Strict mode also reports, as printed, globals that are assigned after the function's definition.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for x, y in batches:
    train_step(x, y)
optimizer = tf.keras.optimizers.SGD(0.01)  # HVD109
for x, y in batches:
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
if args.adam:
    optimizer = tf.keras.optimizers.Adam()
else:
    optimizer = tf.keras.optimizers.SGD(0.1)
for x, y in batches:
    train_step(x, y)
```

## Source
Seed 2.1, restriction 9. Lifted for globals that are only defined later: the seed's rules pass the optimizer by its name in Σ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.scopes import Binding


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
        for again in made[1:]:
            if again.anchor in reported:
                continue
            if any(not _exclusive(context, earlier, again) for earlier in made[: made.index(again)]):
                reported.add(again.anchor)
                yield RESTRICTION.at(
                    context,
                    again.statement,
                    f"`{name.id}` becomes another optimizer here, and `{function.name}` trains with it; give each optimizer a "
                    "name and pass it to the function",
                    related=[context.related(made[0].statement, "the first one"), context.related(update.call, "trains here")],
                )
        if context.strict:
            for b in made:
                if b.statement.lineno > function.lineno and b.anchor not in reported:  # type: ignore[attr-defined]
                    reported.add(b.anchor)
                    yield RESTRICTION.at(context, b.statement, f"`{name.id}` is defined after `{function.name}`, which uses it")


def _makes_optimizer(context: Context, b: Binding) -> bool:
    return b.kind == "assign" and b.value is not None and any(
        context.module.is_optimizer(c) for c in context.values.calls(b.value)
    )


def _exclusive(context: Context, first: Binding, second: Binding) -> bool:
    """Whether two assignments are arms of one choice, so that only one of them runs."""
    arms: dict[ast.AST, str] = {}
    child: ast.AST = first.statement
    for a in context.syntax.ancestors(first.statement):
        arms[a] = context.syntax.field[child]
        child = a
    child = second.statement
    for a in context.syntax.ancestors(second.statement):
        if a in arms:
            arm = context.syntax.field[child]
            if isinstance(a, (ast.If, ast.Try)) and arms[a] != arm:
                return True
            return isinstance(a, ast.Match)
        child = a
    return False


RESTRICTION = Restriction(
    "HVD109",
    "changed-global",
    "a global optimizer that a function trains with must stay the one it was",
    Severity.WARNING,
    __doc__ or "",
    find,
)
