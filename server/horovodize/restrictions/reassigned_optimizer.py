"""HVD106 reassigned-optimizer: what trains must be an optimizer, whatever ran before.

## What it protects
An optimizer is wrapped and its rate scaled where it is made. If the same name may also hold something else where it trains, or
where a Keras name ("adam") is used for more than `compile`, no single text is right there.

## When it is reported
Where, besides an optimizer, a number, a list, a function or the like may arrive at `compile` or `apply_gradients`; where a
variable that holds a Keras optimizer's name is used for something else too (it would become an object instead of a string);
and, as information, where a loop's training data may be a `tf.data` dataset or something else. Reusing a name for something
else *after* training is no violation, nor is replacing an optimizer by an optimizer. `None` before the optimizer is made is
none either. Strict mode reports every name that holds an optimizer first and something else later.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
name = "adam"  # HVD106
model.compile(optimizer=name, loss="mse")
model.fit(x, y)
model.save("model-" + name)
```

```python
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(0.001)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    optimizer = 0.5  # HVD106
```

## Near misses
```python
import tensorflow as tf

optimizer = None
optimizer = tf.keras.optimizers.Adam(0.001)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=optimizer, loss="mse")
model.fit(x, y)
optimizer = "done"
```

## Source
Seed 2.1, restriction 6. Bindings that can't reach the place that trains are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import says_none
from horovodize.restrictions.context import Context
from horovodize.restrictions.flow import Arrival, optimizer_arrivals
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.roles import role_of


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    seen: set[ast.AST] = set()
    for arrivals in optimizer_arrivals(context):
        for arrival in arrivals:
            if arrival.node in seen:
                continue
            seen.add(arrival.node)
            if arrival.source == "other" and not context.is_conditional(arrival.node):
                yield RESTRICTION.at(
                    context,
                    arrival.node,
                    f"`{context.text(arrival.node)}` is no optimizer, but may be what trains; use another name for it",
                    related=[context.related(arrival.site, "it trains here")],
                )
            elif isinstance(arrival.node, ast.Constant) and arrival.node is not arrival.used_at:
                yield from _named_twice(context, arrival)
    yield from _mixed_data(context)
    if context.strict:
        yield from _reused_names(context)


def _named_twice(context: Context, arrival: Arrival) -> Iterator[Violation]:
    """A Keras name in a variable that is not only compiled with."""
    if arrival.source != "string":
        return
    statement = context.syntax.parent.get(arrival.node)
    if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Name) for t in statement.targets):
        return
    compiled = {o for c in context.sites.compiles for o in c.optimizers}
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
    for node in context.syntax.nodes:
        if (
            isinstance(node, ast.Name)
            and node.id in names
            and isinstance(node.ctx, ast.Load)
            and node not in compiled
        ):
            if any(b.value is arrival.node for b in context.scopes.reaching(node)):
                yield RESTRICTION.at(
                    context,
                    arrival.node,
                    f"`{node.id}` names the optimizer and is used for something else too; pass the name to `compile` itself",
                    related=[context.related(node, "used for something else here")],
                )
                return


def _mixed_data(context: Context) -> Iterator[Violation]:
    seen: set[ast.AST] = set()
    for data in context.training_data:
        origins = context.values.origins(data)
        if not any(o.call is not None and role_of(context.module, o.call) == "dataset" for o in origins):
            continue
        for origin in origins:
            literal = (
                isinstance(origin.node, (ast.List, ast.Tuple, ast.Dict, ast.Constant)) and not origin.path
            )
            if literal and not says_none(origin.node) and origin.node not in seen:
                seen.add(origin.node)
                yield RESTRICTION.at(
                    context,
                    origin.node,
                    "the training data may be this instead of a dataset; use another name for it, so that each can be divided "
                    "among the ranks",
                    severity=Severity.INFORMATION,
                )


def _reused_names(context: Context) -> Iterator[Violation]:
    for bindings in [b for names in context.scopes.names.values() for b in names.values()]:
        held = False
        for b in bindings:
            if b.kind != "assign" or b.value is None or b.path:
                continue
            optimizer = any(context.module.is_optimizer(c) for c in context.values.calls(b.value))
            if held and not optimizer:
                yield RESTRICTION.at(
                    context,
                    b.anchor,
                    f"`{b.name}` held an optimizer before; use another name for what is no optimizer",
                    severity=Severity.INFORMATION,
                )
            held |= optimizer


RESTRICTION = Restriction(
    "HVD106",
    "reassigned-optimizer",
    "what trains must be an optimizer, whatever ran before",
    Severity.WARNING,
    __doc__ or "",
    find,
)
