"""HVD104 printed-effect: printing must not do anything but print.

## What it protects
Printing becomes rank 0's alone (rule C6). What the arguments of a `print` do would then happen on one rank only: a training
step in it stalls that rank, because the others never come to its allreduce; an item taken from an iterator puts that rank one
batch ahead of the others.

## When it is reported
On a call inside the arguments of a `print` or `tf.print` statement that trains, takes from an iterator, changes a list, a dict
or a variable, draws random numbers, sets a global or an attribute, or evaluates a model, itself or in a function of this file.
Distributing takes such a call out of the `print` first, so it is information, and a warning only where a statement can't be put
before the `print` (several statements on one line). A `print` inside a lambda or a conditional expression is not moved to rank
0 and therefore not reported. Strict mode also reports calls of other modules' functions, of which nothing is known.

## Quick fix
Evaluate the call in a statement of its own, where nothing else has to be evaluated before it.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for x, y in batches:
    print("loss", model.train_on_batch(x, y))  # HVD104
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
    print(f"loss {train_step(x, y):.3f}")  # HVD104
```

## Near misses
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for x, y in batches:
    loss = model.train_on_batch(x, y)
    print("loss", float(loss), len(batches), model.predict(x).shape)
```

## Source
Seed 2.1, restriction 4. The seed's rule moves the whole call to rank 0; here what is in it is lifted out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments
from horovodize.python.tables import in_order
from horovodize.restrictions.context import Context
from horovodize.restrictions.extract import extract
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    for call in _prints(context):
        statement = context.syntax.parent.get(call)
        if not isinstance(statement, ast.Expr):
            continue
        movable = context.document.starts_line(statement)
        for inner in _calls_in(call):
            if context.facts.effects.moves_state(inner):
                what = "trains" if _trains(context, inner) else "does what all ranks must do"
            elif context.strict and _is_unknown(context, inner):
                what = "may do anything"
            else:
                continue
            yield RESTRICTION.at(
                context,
                inner,
                f"`{context.text(inner)}` {what}, and printing becomes rank 0's alone; evaluate it in a statement of its own"
                + ("" if movable else ", on a line of its own"),
                severity=Severity.INFORMATION if movable else Severity.WARNING,
                fixes=[extract(context, inner, "result")],
            )


def _prints(context: Context) -> list[ast.Call]:
    """The calls that print, in order."""
    builtin = [c for c in context.module.calls_written.get("print") if context.is_builtin(c.func, "print")]
    return in_order([*builtin, *context.module.calls_of("tensorflow.print")])


def _calls_in(call: ast.Call) -> Iterator[ast.Call]:
    """The outermost calls in the arguments first; those inside one with an effect are not looked at again."""
    todo: list[ast.AST] = [*arguments(call)]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node
        todo = [*ast.iter_child_nodes(node), *todo]


def _trains(context: Context, call: ast.Call) -> bool:
    return call in context.training_sites or context.values.callee(call) in context.training_functions


def _is_unknown(context: Context, call: ast.Call) -> bool:
    """Whether nothing can be said about what a call does: it is another module's."""
    if context.scopes.is_builtin(call.func) or context.values.callee(call) is not None:
        return False
    name = context.names.of(call.func) or ""
    return not name.startswith(("tensorflow.", "numpy.", "math.", "time.", "os.path."))


RESTRICTION = Restriction(
    "HVD104",
    "printed-effect",
    "printing must not do anything but print",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
