"""HVD105 aliased-optimizer: an optimizer must be traceable from where it is made to where it trains.

## What it protects
The learning rate is scaled and the optimizer wrapped where it is made (rules C5, K1), once. An optimizer that reaches `compile`
or `apply_gradients` on a way that can't be followed keeps its rate for one process, or is not averaged at all.

## When it is reported
Where following an optimizer back from the place that trains ends at something other than its construction: a list or dict that
another file fills, a function or a variable of another module, a parameter of a function that nothing in this file calls, an
attribute that nothing in this file sets (`setattr` included), a class of this file that derives from no Keras optimizer, or a
name from the command line (`optimizer=args.optimizer`). Names, attributes, tuples, constant keys, both arms of a condition,
functions of this file and their parameters, lists and dicts that this file fills are followed, so plain aliases (`opt =
self.optimizer`) are no violation. An optimizer that comes with a model (`model.optimizer`) is judged where the model is
compiled. Strict mode reports every second name of an optimizer. For training data that is taken from a container in the same
way it is information: every rank then trains on all of it.

## Quick fix
None: which optimizer is meant only its author knows.

## Example that breaks it
```python
import tensorflow as tf

choices = {"adam": tf.keras.optimizers.Adam(0.001), "sgd": tf.keras.optimizers.SGD(0.01)}
choices.update(more_choices())
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=choices[args.optimizer], loss="mse")  # HVD105
model.fit(x, y)
```

```python
import tensorflow as tf
from my_optimizers import build_optimizer

optimizer = build_optimizer(0.1)  # HVD105
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

## Near misses
```python
import tensorflow as tf


def build_optimizer(rate):
    return tf.keras.optimizers.Adam(rate)


class Trainer:
    def __init__(self, optimizers):
        self.optimizer = optimizers["adam"]

    def train(self, model):
        opt = self.optimizer
        model.compile(optimizer=opt, loss="mse")
        model.fit(x, y)


Trainer({"adam": build_optimizer(0.1)}).train(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
```

```python
import tensorflow as tf

choices = {"adam": tf.keras.optimizers.Adam(0.001)}
for momentum in (0.5, 0.9):
    choices[f"sgd-{momentum}"] = tf.keras.optimizers.SGD(0.01, momentum)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=choices[args.optimizer], loss="mse")
model.fit(x, y)
```

## Source
Seed 2.1, restriction 5. The seed forbids every alias, because its σ holds one name an optimizer; values are followed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.flow import Arrival, made_in, optimizer_arrivals
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Related, Severity, Violation
from horovodize.summary.roles import role_of

_ADVICE = {
    "by-name": "which optimizer this names is known at run time only; make the optimizer here, by its class",
    "container": "which optimizer this is, is known at run time only; make the one that trains here, by its class",
    "elsewhere": "this optimizer is made in another module, so its learning rate can't be scaled there; make it in this file",
    "parameter": "nothing in this file says which optimizer is passed here; make it in this file",
    "own-class": "this class derives from no Keras optimizer, so its learning rate is unknown; derive it from "
    "`tf.keras.optimizers.Optimizer`",
    "unknown-class": "this optimizer class is not known here, so its learning rate is not either; use one of TensorFlow 2.15",
    "several": "this is a collection of optimizers, not one; give each model an optimizer of its own",
    "attribute": "nothing in this file sets this optimizer; make it in this file",
}


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    seen: set[ast.AST] = set()
    for arrivals in optimizer_arrivals(context):
        mixed = any(a.followed and a.source != "none" for a in arrivals)
        for arrival in arrivals:
            if arrival.source not in _ADVICE or arrival.node in seen:
                continue
            seen.add(arrival.node)
            if mixed and context.is_conditional(arrival.node):
                continue  # HVD107 says it
            yield RESTRICTION.at(
                context, arrival.node, _message(context, arrival), related=_related(context, arrival)
            )
    yield from _data_in_containers(context)
    if context.strict:
        yield from _second_names(context)


def _message(context: Context, arrival: Arrival) -> str:
    shown = context.text(arrival.node)
    return f"`{shown}`: {_ADVICE[arrival.source]}"


def _related(context: Context, arrival: Arrival) -> Iterator[Related]:
    if arrival.used_at is not arrival.node:
        yield context.related(arrival.site, "it trains here")
    if arrival.source == "container":
        for made in made_in(context, arrival.node)[:8]:
            yield context.related(made, "one of the optimizers that it may be")


def _data_in_containers(context: Context) -> Iterator[Violation]:
    """Datasets that are chosen at run time from a container: rule D1 does not find their source."""
    seen: set[ast.AST] = set()
    for data in context.training_data:
        for origin in context.values.origins(data):
            node = origin.node
            if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice) or node in seen:
                continue
            seen.add(node)
            made = [c for c in _contained(context, node.value) if role_of(context.module, c) == "dataset"]
            if made:
                yield RESTRICTION.at(
                    context,
                    node,
                    f"`{context.text(node)}`: which dataset this is, is known at run time only, so every rank trains on all of "
                    "it; bind the one that trains to a name",
                    severity=Severity.INFORMATION,
                    related=[context.related(n, "one of the datasets that it may be") for n in made[:4]],
                )


def _contained(context: Context, container: ast.expr) -> Iterator[ast.Call]:
    """The calls whose results a list or dict that is written out here holds."""
    for origin in context.values.origins(container):
        node = origin.node
        if isinstance(node, (ast.List, ast.Tuple)):
            elements = node.elts
        elif isinstance(node, ast.Dict):
            elements = node.values
        else:
            continue
        for element in elements:
            yield from context.values.calls(element)


def _second_names(context: Context) -> Iterator[Violation]:
    for bindings in [b for names in context.scopes.names.values() for b in names.values()]:
        for b in bindings:
            if b.kind == "assign" and not b.path and isinstance(b.value, (ast.Name, ast.Attribute)):
                if any(context.module.is_optimizer(c) for c in context.values.calls(b.value)):
                    yield RESTRICTION.at(
                        context,
                        b.anchor,
                        f"`{b.name}` is a second name of the optimizer `{context.text(b.value)}`, and only what one of them "
                        "names would be wrapped; use one name",
                        severity=Severity.INFORMATION,
                    )


RESTRICTION = Restriction(
    "HVD105",
    "aliased-optimizer",
    "an optimizer must be traceable from where it is made to where it trains",
    Severity.WARNING,
    __doc__ or "",
    find,
)
