"""HVD101 late-import: TensorFlow must be imported at the top of the module.

## What it protects
Horovod has to be initialised, and a GPU pinned to each process, before anything else uses TensorFlow (rules C1, C2). That takes
a place that surely runs first: right after the imports at the top.

## When it is reported
Where TensorFlow or Keras is imported inside functions, loops or branches only, so that there is no such place; and where
TensorFlow itself is imported after code that already uses Keras. Before an `if __name__ == "__main__":` that imports it there
is a place, unless something that stands there before the import may have to run first: `os.environ[…] = …`. Imports of other
modules, further imports of TensorFlow, and code before the first import of TensorFlow change nothing and are no violation;
nor is an import in `try` with an alternative. Strict mode reports every import after the first statement that is none.

## Quick fix
The import is moved up behind the imports at the top, where nothing before it can matter to it.

## Example that breaks it
```python
import numpy as np


def train(x, y):
    import tensorflow as tf  # HVD101

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, y)


train(np.zeros((8, 1)), np.zeros(8))
```

```python
from keras.models import Sequential
from keras.layers import Dense

model = Sequential([Dense(1)])
import tensorflow as tf  # HVD101

model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x, y)
```

```python
import os

if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    import tensorflow as tf  # HVD101

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.ones((8, 1)), tf.ones((8, 1)))
```

## Near misses
```python
if __name__ == "__main__":
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.ones((8, 1)), tf.ones((8, 1)))
```

```python
import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

args = argparse.ArgumentParser().parse_args()
from tensorflow.keras import layers

model = tf.keras.Sequential([layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)


def plot(history):
    import matplotlib.pyplot as plt

    plt.plot(history)
```

```python
from tensorflow.examples.tutorials.mnist import input_data

mnist = input_data.read_data_sets("/tmp/data/")
import tensorflow as tf

w = tf.Variable(0.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize((w - 1.0) ** 2)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train)
```

## Source
Seed 2.1, restriction 1. The seed inserts after the import statement wherever it is; here only a late import of TensorFlow
itself matters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.import_order import importing_guard, may_matter
from horovodize.python.syntax import FUNCTIONS, is_main_guard
from horovodize.restrictions.aliased_member import whole_lines
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_IMPORTS = (ast.Import, ast.ImportFrom)
_READERS = ("tensorflow.examples.", "tensorflow.keras.datasets.")


def find(context: Context) -> Iterator[Violation]:
    if context.trains:
        first = context.module.tensorflow_imports[0]
        top = next((s for s in context.module.tensorflow_imports if _at_top_level(context, s)), None)
        if top is None:
            if importing_guard(context.module) is None:
                yield _hidden(context, first)
        else:
            late = _late_tensorflow(context, top)
            if late is not None:
                yield late
    if context.strict:
        yield from _every_late_import(context)


def _at_top_level(context: Context, statement: ast.stmt) -> bool:
    """Whether an import runs first: a statement of the module, or in a `try` or version check around imports only."""
    for a in context.syntax.ancestors(statement):
        if isinstance(a, ast.Module):
            return True
        quiet = isinstance(a, (ast.Try, ast.ExceptHandler, ast.If)) and _only_imports(a)
        if not quiet or is_main_guard(a):
            return False
    return False


def _only_imports(node: ast.AST) -> bool:
    quiet = (*_IMPORTS, ast.Pass, ast.Assign, ast.Try, ast.If, ast.Expr, ast.Raise)
    return all(isinstance(n, quiet) for n in ast.walk(node) if isinstance(n, ast.stmt))


def _hidden(context: Context, statement: ast.Import | ast.ImportFrom) -> Violation:
    inside = any(isinstance(a, FUNCTIONS) for a in context.syntax.ancestors(statement))
    where = "inside a function" if inside else "inside a statement"
    return RESTRICTION.at(
        context,
        statement,
        f"TensorFlow is imported {where} only; import it at the top of the module, so that Horovod can be initialised before "
        "anything uses it",
        fixes=[_move_up(context, statement)],
    )


def _late_tensorflow(context: Context, first: ast.stmt) -> Violation | None:
    """`import tensorflow` after code that uses Keras, which was imported at the top under its own name."""
    body = context.module.tree.body
    whole = [
        s
        for s in context.module.tensorflow_imports
        if isinstance(s, ast.Import)
        and any(a.name in ("tensorflow", "tensorflow.compat.v1") for a in s.names)
    ]
    if not whole or whole[0] not in body or first not in body or whole[0] is first:
        return None
    statement = whole[0]
    between = body[body.index(first) + 1 : body.index(statement)]
    using = next((s for s in between if not isinstance(s, _IMPORTS) and _uses_tensorflow(context, s)), None)
    if using is None:
        return None
    return RESTRICTION.at(
        context,
        statement,
        "TensorFlow is imported after Keras is used; import it at the top, so that Horovod can be initialised first",
        related=[context.related(using, "Keras is used here already")],
        fixes=[_move_up(context, statement)],
    )


def _uses_tensorflow(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement calls TensorFlow when it runs (a `def` does not). Readers of examples' data use NumPy alone."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    names = [context.names.of(n.func) or "" for n in ast.walk(statement) if isinstance(n, ast.Call)]
    return any(name.startswith("tensorflow") and not name.startswith(_READERS) for name in names)


def _move_up(context: Context, statement: ast.Import | ast.ImportFrom) -> Fix | None:
    """Moves an import behind the leading imports, if nothing on the way can matter to it."""
    line = whole_lines(context, statement)
    body = context.module.tree.body
    leading = _leading_imports(body)
    if line is None or len(context.syntax.block(statement)) == 1 and statement not in body:
        return None
    if not _may_move(context, statement):
        return None
    if isinstance(statement, ast.ImportFrom) and (
        statement.level or any(a.name == "*" for a in statement.names)
    ):
        return None
    bound = {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    for node in context.syntax.nodes:
        if isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Store):
            return None
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in bound:
            return None
    imports = [b for b in context.scopes.imports if b.name in bound]
    if any(b.imported != other.imported for b in imports for other in imports if b.name == other.name):
        return None
    for other in body[len(leading) :]:
        if other is statement or (other.lineno > statement.lineno):
            break
        if not isinstance(other, (*FUNCTIONS, ast.ClassDef)) and may_matter(other):
            return None
    text = context.module.text(statement)
    newline = context.document.newline
    if leading:
        end = context.module.span(leading[-1]).end
        row = context.document.lines.line_of(end)
        at = context.document.lines.starts[row] + len(context.document.lines.content(row))
        insertion = Edit.insert(at, newline + text)
    elif body and statement is not body[0]:
        insertion = Edit.insert(context.module.span(body[0]).start, text + newline)
    else:
        return None
    return Fix(f"Move `{context.text(statement)}` to the top", (insertion, Edit(line, "")))


def _may_move(context: Context, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is needed whatever happens: not in a `try` or `if`, and in a function only if it is TensorFlow's."""
    for a in context.syntax.ancestors(statement):
        if isinstance(a, (*FUNCTIONS, ast.ClassDef)):
            if statement not in context.module.tensorflow_imports:
                return False
        elif not isinstance(a, ast.Module) and not is_main_guard(a):
            return False
    return not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def _leading_imports(body: list[ast.stmt]) -> list[ast.stmt]:
    """The docstring and the imports that a module starts with."""
    n = 0
    while n < len(body) and (
        isinstance(body[n], _IMPORTS) or n == 0 and isinstance(body[n], ast.Expr) and _is_text(body[n])
    ):
        n += 1
    return body[:n]


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _every_late_import(context: Context) -> Iterator[Violation]:
    leading = set(_leading_imports(context.module.tree.body))
    for node in context.syntax.nodes:
        if isinstance(node, _IMPORTS) and node not in leading:
            yield RESTRICTION.at(
                context,
                node,
                "Horovod has to be initialised before anything uses TensorFlow; move this import to the top of the module",
                severity=Severity.INFORMATION,
                fixes=[_move_up(context, node)],
            )


RESTRICTION = Restriction(
    "HVD101",
    "late-import",
    "TensorFlow must be imported at the top of the module",
    Severity.WARNING,
    __doc__ or "",
    find,
)
