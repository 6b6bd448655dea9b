"""HVD341 assigned-in-no-order: two assignments of a variable in one run must have an order.

## What it protects
A run of a session does what it's asked for in any order that data and control edges allow, not in that of the list. Of two
assignments of one variable, the last one wins: which one that is may change from run to run, and nothing says so.

## When it is reported
On the second of two assignments (`tf.assign`, `.assign`, `scatter_update`, or one of them and an `assign_add`) that one run
executes, with no path of edges between them, if the variable can hold two different values afterwards. Additions alone
commute. Not where the run, the variable or what stands between can't be followed, and not in `tf.function`, which keeps the
order of the text.

## Quick fix
Puts the second under `tf.control_dependencies([first])`, where both are statements of one block.

## Example that breaks it
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(0.0)
low = tf.assign(level, 1.0)
high = tf.assign(level, 2.0)  # HVD341
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([low, high])
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(0.0)
change = tf.group(
    level.assign(10.0),
    level.assign_add(1.0),  # HVD341
)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(change)
```

## Near misses
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(0.0)
low = tf.assign(level, 1.0)
with tf.control_dependencies([low]):
    high = tf.assign(level, 2.0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([low, high])
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(0.0)
low, high = tf.assign(level, 1.0), tf.assign(level, 2.0)
one, two = tf.assign_add(level, 1.0), tf.assign_sub(level, 2.0)
same = tf.assign(level, 1.0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(low)
    session.run(high)
    session.run([one, two])
    session.run([low, low, same])
```

```python
import tensorflow as tf

level = tf.Variable(0.0)

@tf.function
def change():
    level.assign(1.0)
    level.assign(2.0)

change()
```

## Source
The seed on TensorFlow's semantics (figures 3 and 4: additions commute, of writes the last one wins); the model of a run is
compared with TensorFlow 2.15 on 5,000 random graphs.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.ordering.conflicts import Kind
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.runs import conflicts, ends, in_order, related
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    for conflict in conflicts(context, Kind.ASSIGNED_TWICE):
        held = ends(conflict)
        after = f"{conflict.quoted} is {held} afterwards" if held else "either may be the last"
        yield RESTRICTION.at(
            context,
            conflict.second,
            f"nothing orders this and `{context.text(conflict.first)}`, which run together: {after}; put one of them under "
            "`tf.control_dependencies`",
            related=related(context, conflict, "the other assignment"),
            fixes=[in_order(context, conflict)],
        )


RESTRICTION = Restriction(
    "HVD341",
    "assigned-in-no-order",
    "two assignments of a variable in one run must have an order",
    Severity.WARNING,
    __doc__ or "",
    find,
    asks=False,
)
