"""HVD344 trained-and-assigned: weights that a run trains and assigns to must have an order.

## What it protects
`session.run([train, clip])` may clip the weights before the step or after it; and where what is assigned is computed of the
weights, the step may come between the read and the assignment, and is lost. A Wasserstein GAN whose weights must stay within
bounds then trains outside of them, now and then.

## When it is reported
On the later one, in the text, of a train op and an assignment of the same variable, or of the same collection of variables, in
one run, with no path of edges between them. Two train ops, and what is added (`assign_add`, `assign_sub`), commute.

## Quick fix
Puts the assignment under `tf.control_dependencies([train])`, where it comes later in the same block. Where it comes first,
which order is meant isn't known.

## Example that breaks it
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rows = tf.placeholder(tf.float32, [None, 4])
score = tf.layers.dense(rows, 1)
weights = tf.trainable_variables()
train = tf.train.RMSPropOptimizer(0.01).minimize(tf.reduce_mean(score), var_list=weights)
clip = [w.assign(tf.clip_by_value(w, -0.01, 0.01)) for w in weights]  # HVD344
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([train, clip], feed_dict={rows: batch})
```

## Near misses
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rows = tf.placeholder(tf.float32, [None, 4])
score = tf.layers.dense(rows, 1)
weights = tf.trainable_variables()
train = tf.train.RMSPropOptimizer(0.01).minimize(tf.reduce_mean(score), var_list=weights)
with tf.control_dependencies([train]):
    clip = [w.assign(tf.clip_by_value(w, -0.01, 0.01)) for w in weights]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run([train, clip], feed_dict={rows: batch})
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
rows = tf.placeholder(tf.float32, [None, 4])
score = tf.layers.dense(rows, 1)
weights = tf.trainable_variables()
train = tf.train.RMSPropOptimizer(0.01).minimize(tf.reduce_mean(score), var_list=weights)
clip = [w.assign(tf.clip_by_value(w, -0.01, 0.01)) for w in weights]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, feed_dict={rows: batch})
    session.run(clip)
```

## Source
The seed on TensorFlow's semantics; implementations of Wasserstein GANs that clip beside the step.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.ordering.conflicts import Kind
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.runs import conflicts, in_order, related
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    trains = context.sites.graph_minimizes
    for conflict in conflicts(context, Kind.TRAINED_AND_ASSIGNED):
        yield RESTRICTION.at(
            context,
            conflict.second,
            f"{conflict.quoted} is trained and assigned to in one run, and nothing orders that: the step may be lost, or come "
            "last; put the one that is to be later under `tf.control_dependencies`",
            related=related(context, conflict, "the other change"),
            fixes=[None if conflict.second in trains else in_order(context, conflict)],
        )


RESTRICTION = Restriction(
    "HVD344",
    "trained-and-assigned",
    "weights that a run trains and assigns to must have an order",
    Severity.WARNING,
    __doc__ or "",
    find,
    asks=False,
)
