"""HVD108 buried-update: a training step must be a statement of its own.

## What it protects
After the first step of a GradientTape loop, model and optimizer are broadcast from rank 0 (rule G2), by a statement after the
one that takes the step. Where no statement can stand there, nothing is broadcast, and each rank trains a model of its own.

## When it is reported
Where a call that takes a step (`apply_gradients`, `minimize`, or the function of this file that does it and is called in the
loop) can't be taken out of its statement with everything still evaluated in the same order. It stands

- in a generator that is kept to be gone through later,
- behind `and` or in an arm of a larger expression,
- after another call in the same statement,
- in the test of a `while` loop with an `else`, or
- in the body of a class.

Elsewhere it is no violation: distributing turns comprehensions, `map` and lambdas into loops and functions, and takes a step
out of the header of an `if`, `while`, `for` or `return` (rule C8). Neither is a Keras model's own `train_step`: `fit`
broadcasts. Strict mode reports, as printed, every `apply_gradients` that is neither a statement nor the right side of an
assignment.

## Quick fix
Strict mode only: evaluate the call in a statement of its own, where nothing else has to be evaluated before it.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


losses = (train_step(x, y) for x, y in batches)  # HVD108
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in batches:
    if len(x) > 1 and train_step(x, y) > 1e6:  # HVD108
        print("diverges")
```

## Near misses
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
losses = []


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    steps = optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in batches:
    losses.append(train_step(x, y))
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(3):
    losses = [train_step(x, y) for x, y in batches]
```

## Source
Seed 2.1, restriction 8. The seed asks it of `apply_gradients` alone; what counts is the call in the function that holds the
loop. Arguments of calls are lifted: the broadcast comes after the whole statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.shared_line import shared_line
from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS
from horovodize.restrictions.context import Context
from horovodize.restrictions.extract import extract
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind
from horovodize.summary.call_paths import Frame

_HEADERS = (
    ast.If,
    ast.While,
    ast.For,
    ast.AsyncFor,
    ast.With,
    ast.AsyncWith,
    ast.Return,
    ast.Match,
    ast.Assert,
    ast.Delete,
)


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    seen: set[ast.AST] = set()
    for loop in context.loops:
        if loop.kind is not LoopKind.GRADIENT_TAPE:
            continue
        for way in context.ways(loop.node):
            node = _driven(context, way)
            if node in seen or not isinstance(node, ast.expr):
                continue
            seen.add(node)
            where = _buried(context, node)
            if where is not None and not context.buries.comes_out(node):
                yield _violation(context, node, loop.node, where)
    if context.strict:
        yield from _as_printed(context, seen)


def _driven(context: Context, way: tuple[Frame, ...]) -> ast.AST:
    """The call after which the broadcast goes: in the function that holds the loop, or where the way begins."""
    first = min(context.drive.runs_traced(way) + 1, len(way) - 1)
    for frame in way[first:]:
        if frame.loops or _in_comprehension(context, frame.node):
            return frame.node
    return way[-1].node if not _only_returned(context, way[-1].node) else way[first].node


def _only_returned(context: Context, node: ast.AST) -> bool:
    return isinstance(context.syntax.statement(node), ast.Return)


def _in_comprehension(context: Context, node: ast.AST) -> bool:
    for a in context.syntax.ancestors(node):
        if isinstance(a, ast.stmt):
            return False
        if isinstance(a, COMPREHENSIONS):
            return True
    return False


def _buried(context: Context, node: ast.expr) -> str | None:
    """Where a step stands, if no statement can follow it there."""
    for a in context.syntax.ancestors(node):
        if isinstance(a, ast.Lambda):
            return "in a lambda"
        if isinstance(a, COMPREHENSIONS):
            return "in a comprehension, which takes every step before the next statement runs"
        if isinstance(a, ast.stmt):
            break
    statement = context.syntax.statement(node)
    if isinstance(statement, ast.Return):
        return "in a `return`"
    if context.sites.updates_in(statement):
        return None
    if isinstance(statement, (*_HEADERS, *FUNCTIONS, ast.ClassDef)):
        return f"in the header of {_article(statement)}"
    parted = shared_line(context.module, statement) is not None
    return None if parted else "on a line with other statements that is broken by a backslash"


def _article(statement: ast.stmt) -> str:
    word = (
        type(statement)
        .__name__.removeprefix("Async")
        .lower()
        .replace("functiondef", "def")
        .replace("classdef", "class")
    )
    return f"{'an' if word[0] in 'aei' else 'a'} `{word}`"


def _violation(context: Context, node: ast.expr, step: ast.Call, where: str) -> Violation:
    return RESTRICTION.at(
        context,
        node,
        f"this training step stands {where}, so nothing can be broadcast after it; give it a statement of its own",
        related=[context.related(step, "the step")] if node is not step else [],
    )


def _as_printed(context: Context, seen: set[ast.AST]) -> Iterator[Violation]:
    for update in context.sites.updates:
        parent = context.syntax.parent.get(update.call)
        statement = isinstance(parent, (ast.Expr, ast.Assign, ast.AnnAssign)) or update.method == "assign"
        if update.call not in seen and not statement:
            yield RESTRICTION.at(
                context,
                update.call,
                f"`{update.method}` stands inside another expression, so nothing can be broadcast after it; make it a "
                "statement of its own",
                severity=Severity.INFORMATION,
                fixes=[extract(context, update.call, "applied")],
            )


RESTRICTION = Restriction(
    "HVD108",
    "buried-update",
    "a training step must be a statement of its own",
    Severity.WARNING,
    __doc__ or "",
    find,
)
