"""HVD345 py-function-with-state: Python functions in a graph that share state must have an order.

## What it protects
TensorFlow doesn't see what a `tf.py_func` changes outside itself. Two of them in one run are called in any order, which may
change from run to run, and so may what they leave behind and give.

## When it is reported
On the second of two calls of `tf.py_func`, `tf.py_function` or `tf.numpy_function` in one run, with no path of edges between
them, whose functions both change the same thing outside: a global variable, an attribute of `self`, a list or a dict.

## Quick fix
Puts the second under `tf.control_dependencies([first])`, where both are statements of one block.

## Example that breaks it
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
seen = []

def remember(x):
    seen.append(x)
    return x

a = tf.py_func(remember, [tf.constant(1.0)], tf.float32)
b = tf.py_func(remember, [tf.constant(2.0)], tf.float32)  # HVD345
with tf.Session() as session:
    session.run([a, b])
```

## Near misses
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
seen = []

def remember(x):
    seen.append(x)
    return x

a = tf.py_func(remember, [tf.constant(1.0)], tf.float32)
b = tf.py_func(remember, [a], tf.float32)
with tf.control_dependencies([b]):
    c = tf.py_func(remember, [tf.constant(3.0)], tf.float32)
with tf.Session() as session:
    session.run([a, b, c])
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

def double(x):
    rows = []
    rows.append(x)
    return 2 * rows[0]

a = tf.py_func(double, [tf.constant(1.0)], tf.float32)
b = tf.py_func(double, [tf.constant(2.0)], tf.float32)
with tf.Session() as session:
    session.run([a, b])
```

## Source
The documentation of `tf.py_function` and `tf.numpy_function`: functions are called at any time, and their effects aren't part
of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.ordering.conflicts import Kind
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.runs import conflicts, in_order, related
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    for conflict in conflicts(context, Kind.CALLED_TWICE):
        yield RESTRICTION.at(
            context,
            conflict.second,
            f"two Python functions in this run change {conflict.quoted}, and nothing orders the calls: put one of them "
            "under `tf.control_dependencies`",
            related=related(context, conflict, "the other call"),
            fixes=[in_order(context, conflict)],
        )


RESTRICTION = Restriction(
    "HVD345",
    "py-function-with-state",
    "Python functions in a graph that share state must have an order",
    Severity.INFORMATION,
    __doc__ or "",
    find,
    asks=False,
)
