"""HVD102 module-by-call: TensorFlow must come from an import statement, under a name of its own.

## What it protects
Every rule starts from what a name means. What an import statement binds is known; what a call returns, or an attribute holds,
is only known at run time, so the training loop is not found at all.

## When it is reported
Where TensorFlow or Keras is imported by `__import__` or `importlib.import_module` in a file that trains, and where such a file
keeps the module in an attribute or an item (`self.tf = tf`). A second name (`tf = tf.compat.v1`, `K = keras.backend`) is
followed and no violation. Strict mode reports second names too.

## Quick fix
The call becomes an import statement, where it names the module by a constant and is assigned to one name.

## Example that breaks it
```python
import importlib

tf = importlib.import_module("tensorflow")  # HVD102
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow as tf


class Trainer:
    def __init__(self, model):
        self.tf = tf  # HVD102
        self.model = model

    def train(self, x, y):
        self.model.compile(self.tf.keras.optimizers.SGD(0.1), "mse")
        self.model.fit(x, y, epochs=2)
```

## Near misses
```python
import importlib

import tensorflow as tf

tf = tf.compat.v2
settings = importlib.import_module("settings")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

## Source
Seed 2.1, restriction 2. Lifted for names that are assigned the module: names are resolved through assignments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.tables import in_order
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary import LoopKind

_PACKAGES = ("tensorflow", "keras", "tf_keras")
_MODULES = ("tensorflow", "tensorflow.keras", "tensorflow.compat.v1")


def find(context: Context) -> Iterator[Violation]:
    if context.summary.already is LoopKind.OTHER_FRAMEWORK:
        return
    trains = context.sites.method_calls(
        "fit", "fit_generator", "train_on_batch", "apply_gradients", "minimize"
    )
    for call in _importing(context) if trains or context.strict else ():
        module = _imported_module(call)
        if module is not None:
            yield RESTRICTION.at(
                context,
                call,
                f"`{context.text(call)}` imports {module} in a way that can't be followed; use an import statement",
                fixes=[_import_statement(context, call, module)],
            )
    if context.trains or context.strict:
        yield from _kept_modules(context)


def _importing(context: Context) -> list[ast.Call]:
    """The calls that import a module."""
    builtin = [
        c for c in context.module.calls_written.get("__import__") if context.is_builtin(c.func, "__import__")
    ]
    return in_order([*builtin, *context.module.calls_of("importlib.import_module")])


def _imported_module(call: ast.Call) -> str | None:
    """The TensorFlow module that an importing call imports."""
    if not call.args or not isinstance(call.args[0], ast.Constant):
        return None
    name = call.args[0].value
    return name if isinstance(name, str) and name.split(".")[0] in _PACKAGES else None


def _import_statement(context: Context, call: ast.Call, module: str) -> Fix | None:
    statement = context.syntax.parent.get(call)
    if len(call.args) != 1 or call.keywords or not all(part.isidentifier() for part in module.split(".")):
        return None
    if context.is_builtin(call.func, "__import__"):
        module = module.split(".", maxsplit=1)[0]  # gives the package, whatever the rest of the name
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            text = f"import {module}" if name == module else f"import {module} as {name}"
            return Fix(f"Use `{text}`", (Edit(context.module.span(statement), text),))
    return None


def _kept_modules(context: Context) -> Iterator[Violation]:
    for node in context.assignments:
        if not isinstance(node.value, (ast.Name, ast.Attribute)):
            continue
        if context.names.of(node.value) not in _MODULES:
            continue
        for target in node.targets:
            kept = isinstance(target, (ast.Attribute, ast.Subscript))
            if kept or context.strict:
                yield RESTRICTION.at(
                    context,
                    node,
                    f"`{context.text(target)}` holds the module `{context.text(node.value)}`"
                    + (", which can't be followed there" if kept else "")
                    + "; use the imported name",
                    severity=Severity.WARNING if kept and context.trains else Severity.INFORMATION,
                )


RESTRICTION = Restriction(
    "HVD102",
    "module-by-call",
    "TensorFlow must come from an import statement, under a name of its own",
    Severity.WARNING,
    __doc__ or "",
    find,
)
