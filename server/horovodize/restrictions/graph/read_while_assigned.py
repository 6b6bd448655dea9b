"""HVD342 read-while-assigned: a variable that a run reads and changes must be read before or after.

## What it protects
`session.run([update, loss])` may compute the loss from the variable as it was, as it becomes, or from both, where it reads the
variable several times. Each use of a variable in an expression is a read of its own, which is ordered by what leads to it and
what is made of it, and by nothing else.

## When it is reported
On the later one, in the text, of a read and an assignment of one variable in one run, with no path of edges between them, if
what is read shows: it's fetched, or something that is fetched or assigned is computed of it. A warning beside an assignment
that replaces the value; beside one that adds to it (a train op, a counted step) it's information: the value is one step older
or newer. Not of reads that lead to the assignment, such as those of a loss and its train op.

## Quick fix
Puts the assignment under `tf.control_dependencies([value])`, where the value that is read before has a name in the same block.

## Example that breaks it
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(1.0)
double = level * 2.0
reset = level.assign(0.0)  # HVD342
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([double, reset]))
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
step = tf.train.get_or_create_global_step()
w = tf.Variable(1.0)
loss = tf.square(w - 3.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    _, now = session.run([train, step])  # HVD342
```

## Near misses
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
step = tf.train.get_or_create_global_step()
w = tf.Variable(1.0)
loss = tf.square(w - 3.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
with tf.control_dependencies([train]):
    now = step.read_value()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([train, loss, now])
    print(session.run(step))
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
level = tf.Variable(1.0)
double = level * 2.0
with tf.control_dependencies([double]):
    reset = level.assign(0.0)
halve = level.assign(level / 2.0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([double, reset]))
    session.run(halve)
```

## Source
The seed on TensorFlow's semantics; the model of a run is compared with TensorFlow 2.15 on 5,000 random graphs.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.ordering.conflicts import Kind
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.runs import conflicts, ends, in_order, is_trained_and_assigned, related
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    for conflict in conflicts(context, Kind.READ_AND_ASSIGNED, Kind.READ_AND_COUNTED):
        if not conflict.is_fetched and is_trained_and_assigned(context, conflict):
            continue
        counted = conflict.kind is Kind.READ_AND_COUNTED
        values = ends(conflict)
        yield RESTRICTION.at(
            context,
            conflict.second,
            f"{conflict.quoted} is read and changed in one run, and nothing orders that: what is read is "
            f"{values or 'its value before or after'}; fetch it in a run of its own, or order them by "
            "`tf.control_dependencies`",
            severity=Severity.INFORMATION if counted else Severity.WARNING,
            related=related(context, conflict, "read here" if conflict.is_read_first else "changed here"),
            fixes=[in_order(context, conflict) if conflict.is_read_first else None],
        )


RESTRICTION = Restriction(
    "HVD342",
    "read-while-assigned",
    "a variable that a run reads and changes must be read before or after",
    Severity.WARNING,
    __doc__ or "",
    find,
    asks=False,
)
