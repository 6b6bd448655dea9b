"""HVD110 aliased-checkpoint: a checkpoint must be traceable from where it is made to where it is saved.

## What it protects
Checkpoints are written by rank 0 alone (rule C6). One that is saved where it can't be seen is written by every rank at once,
into the same files.

## When it is reported
Where a `tf.train.Checkpoint`, `CheckpointManager` or TF1 `Saver` is handed to another module's function or class that can't be
looked into, or put into a list or dict (`append`, `setattr`, a literal). Names, attributes, parameters of functions of this
file, and TensorFlow's own objects that hold checkpoints are followed and no violation. Strict mode reports every second name.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
from my_training import save_everything

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
checkpoint = tf.train.Checkpoint(model=model)
model.compile("sgd", "mse")
model.fit(x, y)
save_everything(checkpoint, "checkpoints")  # HVD110
```

## Near misses
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
checkpoint = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=3)


def save(saver):
    saver.save()


model.compile("sgd", "mse")
model.fit(x, y)
save(manager)
print(checkpoint)
```

## Source
Seed 2.1, restriction 10. Lifted for second names: values are followed through them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_HARMLESS = (
    "print",
    "repr",
    "str",
    "type",
    "id",
    "isinstance",
    "hasattr",
    "getattr",
    "vars",
    "dir",
    "len",
    "bool",
    "callable",
)
_CLASSES = (
    "tensorflow.train.Checkpoint",
    "tensorflow.train.CheckpointManager",
    "tensorflow.compat.v1.train.Saver",
)
_STORING = ("append", "insert", "add", "setdefault", "extend")


def find(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    made = set(context.module.calls_of(*_CLASSES))
    if not made:
        return
    for use in _values_of(context, made):
        parent = context.syntax.parent.get(use)
        if isinstance(parent, ast.keyword):
            parent = context.syntax.parent.get(parent)
        where = None
        if isinstance(parent, ast.Call) and use is not parent.func:
            where = _handed_to(context, parent)
        elif isinstance(parent, (ast.List, ast.Dict, ast.Set)) and isinstance(
            getattr(parent, "ctx", ast.Load()), ast.Load
        ):
            where = "put into a container here"
        if where is not None:
            origin = next((c for c in context.values.calls(use) if c in made), None)
            yield RESTRICTION.at(
                context,
                use,
                f"`{context.text(use)}` is {where}, where it can't be seen whether every rank saves it; save it in this file",
                related=[context.related(origin, "the checkpoint")]
                if origin is not None and origin is not use
                else [],
            )
    if context.strict:
        yield from _second_names(context, made)


def _values_of(context: Context, made: set[ast.Call]) -> Iterator[ast.expr]:
    """The expressions whose value is one of the checkpoints: constructions, names, attributes."""
    yield from made
    for node in context.loads(_held_names(context, made)):
        if made.intersection(context.values.calls(node)):
            yield node


def _held_names(context: Context, made: set[ast.Call]) -> set[str]:
    """What names and attributes that may hold a checkpoint are called, by name alone: more than there are."""
    tables = [*context.scopes.names.values(), context.scopes.attributes]
    bindings = [b for table in tables for bs in table.values() for b in bs if b.kind == "assign"]
    held = {b.name for b in bindings if b.value in made}
    held |= {b.name for b in bindings if b.value is not None and _last_name(b.value) in held}
    for node in [*made, *context.loads(held)]:
        parent = context.syntax.parent.get(node)
        call = context.syntax.parent.get(parent) if isinstance(parent, ast.keyword) else parent
        callee = context.values.callee(call) if isinstance(call, ast.Call) and node is not call.func else None
        if isinstance(callee, FUNCTIONS):
            held.update(p.arg for p in (*callee.args.args, *callee.args.kwonlyargs))
    return held


def _last_name(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _binds(context: Context, value: ast.expr | None, made: set[ast.Call]) -> bool:
    return value is not None and bool(made.intersection(context.values.calls(value)))


def _handed_to(context: Context, call: ast.Call) -> str | None:
    function = call.func
    if context.values.callee(call) is not None or context.is_builtin(function, *_HARMLESS):
        return None
    name = context.names.of(function) or ""
    if name.startswith(("tensorflow", "orbit.", "logging", "absl.")) or context.is_builtin(function, "super"):
        return None
    if (
        isinstance(function, ast.Attribute)
        and function.attr in _STORING
        or context.is_builtin(function, "setattr")
    ):
        return "put into a container here"
    if isinstance(function, ast.Attribute) and not name:
        return None  # a method of an object of this file or of TensorFlow: `manager.restore(checkpoint)`
    return f"handed to `{context.text(function)}`"


def _second_names(context: Context, made: set[ast.Call]) -> Iterator[Violation]:
    for names in context.scopes.names.values():
        for bindings in names.values():
            for b in bindings:
                if b.kind == "assign" and not b.path and isinstance(b.value, (ast.Name, ast.Attribute)):
                    if _binds(context, b.value, made):
                        yield RESTRICTION.at(
                            context,
                            b.anchor,
                            f"`{b.name}` is a second name of the checkpoint `{context.text(b.value)}`; use one name, so "
                            "that only rank 0 saves it",
                            severity=Severity.INFORMATION,
                        )


RESTRICTION = Restriction(
    "HVD110",
    "aliased-checkpoint",
    "a checkpoint must be traceable from where it is made to where it is saved",
    Severity.WARNING,
    __doc__ or "",
    find,
)
