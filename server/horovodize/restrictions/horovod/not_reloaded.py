"""HVD316 not-reloaded: a compiled model must be loaded with its wrapped optimizer.

## What it protects
A saved model remembers the optimizer by the name that it has without Horovod. `keras.models.load_model` makes a plain one of
it, and training goes on with each rank by itself. `hvd.load_model` wraps it again.

## When it is reported
On a `fit` of a model that `load_model` of Keras gives, or may give, and that nothing compiles afterwards; also where a function
builds and compiles the other one.

## Quick fix
Use `hvd.load_model`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.models.load_model("model.h5")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD316
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
if os.path.exists("model.h5"):
    model = tf.keras.models.load_model("model.h5", custom_objects={"Norm": Norm})
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD316
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


def network(rate):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(rate)), "mse")
    return model


def main():
    model = network(0.01 * hvd.size())
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
    model = tf.keras.models.load_model("best.h5")
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD316


main()
```

```python
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    return model


model = tf.keras.models.load_model("model.h5") if len(sys.argv) > 1 else build()
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD316
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def load(path, several):
    if several:
        return hvd.load_model(path)
    return tf.keras.models.load_model(path)

hvd.init()
model = load("model.h5", hvd.size() > 1)
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def load(path):
    model = tf.keras.models.load_model(path)
    model.optimizer = hvd.DistributedOptimizer(model.optimizer)
    return model

hvd.init()
if os.path.exists("model.h5"):
    model = load("model.h5")
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
if os.path.exists("model.h5"):
    model = tf.keras.models.load_model("model.h5", compile=False)
    model.compile(optimizer, "mse")
else:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if os.path.exists("model.h5"):
    model = tf.keras.models.load_model("model.h5")
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = hvd.load_model("model.h5")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.models.load_model("model.h5")
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Source
Horovod's guide for Keras; Horovod's issues 1964 and 2486; seen with TensorFlow 2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.interleaving.changes import parts
from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import keras
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.site_kinds import Compile

_LOAD = "tensorflow.keras.models.load_model"


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for fit in context.sites.fits:
        made = [o.call for o in context.values.origins(fit.model)]
        loads = [call for call in made if call is not None and context.names.of(call.func) == _LOAD]
        if (
            not loads
            or any(call is not None and _is_horovods(context, call) for call in made)
            or any(_without_optimizer(context, call) for call in loads)
            or _is_replaced(context, loads)
        ):
            continue
        before = [
            c
            for c in context.sites._raw_compiles
            if _is_written_alike(context, c.model, fit.model) and _is_of_another(context, c.call, loads)
        ]
        if len(loads) < len(made) and not before:
            before = _compiled_where_built(context, made, loads)
        if len(loads) < len(made) and not before:
            continue  # who makes the others may compile this one, too
        compiled = any(
            set(context.values.calls(c.model)) & set(loads) or _is_written_alike(context, c.model, fit.model)
            for c in context.sites._raw_compiles
            if c not in before
        )
        if compiled or not use.runs(fit.call) or context.facts.rank_tests.may_be_guarded(fit.call):
            continue
        yield RESTRICTION.at(
            context,
            fit.call,
            "the optimizer of a model that Keras loads is a plain one, and each rank trains by itself: load it by "
            "`hvd.load_model`",
            related=[context.related(loads[0], "loaded here")],
            fixes=[_fix(context, loads)],
        )


def _is_written_alike(context: Context, one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike, and are no names of two functions."""
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        return one.id == other.id and context.scopes.lookup(one.id, one) is context.scopes.lookup(
            other.id, other
        )
    return context.text(one) == context.text(other)


def _is_horovods(context: Context, call: ast.Call) -> bool:
    """Whether Horovod loads a model, as on several ranks: what Keras loads in the other arm is for a process alone."""
    name = context.names.of(call.func) or ""
    return name.startswith("horovod.") and name.endswith(".load_model")


def _fix(context: Context, loads: list[ast.Call]) -> Fix | None:
    name = keras(context)
    if name is None or len(loads) != 1:
        return None
    return Fix(f"Use `{name}.load_model`", (Edit(context.module.span(loads[0].func), f"{name}.load_model"),))


def _is_of_another(context: Context, compiled: ast.Call, loads: list[ast.Call]) -> bool:
    """Whether a loaded model isn't the compiled one: that is compiled where none is loaded, or before one is, once
    (`if os.path.exists(path): model = load_model(path)`)."""
    syntax = context.syntax
    return all(
        context.facts.exclusive.apart(compiled, load)
        or _asks_the_contrary(context, compiled, load)
        or (
            syntax.function(compiled) is syntax.function(load)
            and position(compiled) < position(load)
            and not syntax.loops(load)
        )
        for load in loads
    )


def _asks_the_contrary(context: Context, one: ast.Call, other: ast.Call) -> bool:
    """Whether one stands under a test that is the other's, answered otherwise: `if not os.path.exists(path):`."""
    asked = [
        {
            (ast.unparse(e), given)
            for test, arm in context.syntax.conditions(place)
            for e, given in parts(test.test, arm == "body")
        }
        for place in (one, other)
    ]
    return any((text, not given) in asked[1] for text, given in asked[0])


def _compiled_where_built(
    context: Context, made: list[ast.Call | None], loads: list[ast.Call]
) -> list[Compile]:
    """The places that compile each model that isn't loaded where it is built, `def build(): … model.compile(…); return model`,
    and so never one that is loaded; none if there may be others, or if a test of the rank lets some ranks load."""
    others = {call for call in made if call is not None and call not in loads}
    if None in made or any(map(context.facts.rank_tests.may_be_guarded, loads)):
        return []
    found, seen = list[Compile](), set[ast.Call]()
    for c in context.sites._raw_compiles:
        of = set(context.values.calls(c.model))
        if (
            of
            and of <= others
            and all(context.syntax.function(c.call) is context.syntax.function(o) for o in of)
        ):
            found.append(c)
            seen |= of
    return found if others <= seen else []


def _is_replaced(context: Context, loads: list[ast.Call]) -> bool:
    """Whether a loaded model may be given another optimizer: `model.optimizer = hvd.DistributedOptimizer(model.optimizer)`."""
    return any(
        n.attr == "optimizer"
        and isinstance(n.ctx, ast.Store)
        and set(context.values.calls(n.value)) & set(loads)
        for n in context.syntax.every(ast.Attribute)
    )


def _without_optimizer(context: Context, load: ast.Call) -> bool:
    """Whether a model may be loaded without its optimizer, or with one of the script's own."""
    if argument(load, "compile") is not None:
        return True
    given = argument(load, "custom_objects", 1)
    if isinstance(given, ast.Dict):  # of layers, losses and metrics alone?
        names = [k.value if isinstance(k, ast.Constant) else "" for k in given.keys]
        return not all(isinstance(n, str) and n and not _may_be_optimizer(n) for n in names)
    return given is not None


def _may_be_optimizer(name: str) -> bool:
    return catalogue.is_optimizer(f"tensorflow.keras.optimizers.{name}") or any(
        part in name.lower() for part in ("optim", "distributed")
    )


RESTRICTION = Restriction(
    "HVD316",
    "not-reloaded",
    "a compiled model must be loaded with its wrapped optimizer",
    Severity.WARNING,
    __doc__ or "",
    find,
)
