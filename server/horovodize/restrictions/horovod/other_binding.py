"""HVD315 other-binding: Horovod's module must be that of the Keras that trains.

## What it protects
`horovod.keras` is for the package `keras`, and `horovod.tensorflow.keras` for `tf.keras`. These are two packages before
TensorFlow 2.6, and where `tf_keras` or Keras 3 is installed beside; then the wrapped optimizer and the callbacks are those of
the other one.

## When it is reported
On an import of `horovod.keras` in a script that uses `tf.keras` only; where TensorFlow is known to be older than 2.6, also on
one of `horovod.tensorflow.keras` in a script that uses the package `keras` only.

## Quick fix
Import the other module, by the same name.

## Example that breaks it
```python
import tensorflow as tf
import horovod.keras as hvd  # HVD315

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
```

## Near misses
```python
import keras
import horovod.keras as hvd

hvd.init()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.01 * hvd.size())), "mse")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
```

## Source
Horovod's guide for Keras; `keras/__init__.py` and `tensorflow/keras/__init__.py` of Horovod 0.28.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.world.versions import before

_ONE_PACKAGE = (2, 6)  # the first TensorFlow whose Keras is the package `keras`
_FOR = {"horovod.keras": "keras", "horovod.tensorflow.keras": "tf.keras"}


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    bound = {f for f in _FOR if context.module.imports(f)}
    old = before(context.world.tensorflow, _ONE_PACKAGE)
    if (
        len(bound) != 1
        or not use.wrapped
        or context.module.imports("tf_keras")
        or not (old or "horovod.keras" in bound)
    ):
        return
    used = {_package(context, call) for call in context.syntax.calls} - {""}
    if len(used) != 1:
        return
    (module,), (package,) = bound, used
    if _FOR[module] == package or (package == "keras" and not old):
        return
    for binding in context.scopes.imports:
        if (binding.imported + ".").startswith(module + ".") and isinstance(binding.anchor, ast.AST):
            yield RESTRICTION.at(
                context,
                binding.statement,
                f"`{module}` is for the package `{_FOR[module]}`, and this script trains with `{package}`: before "
                "TensorFlow 2.6, and with Keras 3, these are two packages",
                fixes=[_fix(context, binding.anchor, module)],
            )
            return


def _fix(context: Context, imported: ast.AST, module: str) -> Fix | None:
    """Imports the other module by the same name: `import horovod.keras as hvd`."""
    if not isinstance(imported, ast.alias) or imported.name != module or imported.asname is None:
        return None
    (other,) = set(_FOR) - {module}
    return Fix(f"Import `{other}`", (Edit(context.module.span(imported), f"{other} as {imported.asname}"),))


def _package(context: Context, call: ast.Call) -> str:
    """By which name something of Keras is called: "keras", "tf.keras"; "" for other things."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return ""
    written = context.names.written(call.func) or ""
    if written.startswith("keras."):
        return "keras"
    return "tf.keras" if written.startswith(("tensorflow.keras.", "tensorflow.python.keras.")) else ""


RESTRICTION = Restriction(
    "HVD315",
    "other-binding",
    "Horovod's module must be that of the Keras that trains",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
