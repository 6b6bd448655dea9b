"""HVD343 updates-not-run: what batch normalization keeps for inference must be updated by something.

## What it protects
In training, batch normalization takes the mean and the variance of the batch; for inference it keeps moving averages of them.
TensorFlow 1's layers put the operations that update these into the collection `UPDATE_OPS`, and run them nowhere. A train op
that doesn't wait for them leaves the averages at 0 and 1: training looks right, and inference is wrong.

## When it is reported
On the train op of a script that normalizes batches in training mode (`tf.layers`, `tf.contrib.layers`, slim) and mentions
`UPDATE_OPS` nowhere, nor anything that runs them (`create_train_op`, `optimize_loss`, `updates_collections=None`, …). It's
information where every layer is always in training mode, so that nothing reads the averages.

## Quick fix
Puts each `minimize` or `apply_gradients` under `control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS))`.

## Example that breaks it
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x, training = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.bool)
normal = tf.layers.batch_normalization(x, training=training)
loss = tf.reduce_mean(tf.square(tf.layers.dense(normal, 1)))
train = tf.train.AdamOptimizer(0.001).minimize(loss)  # HVD343
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, feed_dict={x: batch, training: True})
```

## Near misses
```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x, training = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.bool)
normal = tf.layers.batch_normalization(x, training=training)
loss = tf.reduce_mean(tf.square(tf.layers.dense(normal, 1)))
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train = tf.train.AdamOptimizer(0.001).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, feed_dict={x: batch, training: True})
```

```python
import tensorflow as tf

x, training = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.bool)
normal = tf.contrib.layers.batch_norm(x, is_training=training, updates_collections=None)
loss = tf.reduce_mean(tf.square(tf.layers.dense(normal, 1)))
train = tf.train.AdamOptimizer(0.001).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, feed_dict={x: batch, training: True})
```

```python
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 4])
normal = tf.layers.batch_normalization(x)
loss = tf.reduce_mean(tf.square(tf.layers.dense(normal, 1)))
train = tf.train.AdamOptimizer(0.001).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, feed_dict={x: batch})
```

## Source
The documentation of `tf.compat.v1.layers.batch_normalization` and of `tf.contrib.layers.batch_norm`: "the update ops need to be
added as a dependency to the train_op".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import has_unpacking
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.runs import under
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation

_V1 = "tensorflow.compat.v1."
# The layers, with the parameter that says whether they train.
_FUNCTIONS = {
    f"{_V1}layers.batch_normalization": "training",
    "tensorflow.contrib.layers.batch_norm": "is_training",
    "tensorflow.contrib.slim.batch_norm": "is_training",
    "tf_slim.batch_norm": "is_training",
}
_CLASS = f"{_V1}layers.BatchNormalization"
# What runs the updates, or says where they go.
_RUNNING = (
    "update_ops", "UPDATE_OPS", "updates_collections", "create_train_op", "optimize_loss", "get_updates_for", "updates",
    "get_updates", "TPUEstimator", "batch_norm_updates", "moving_mean", "moving_variance",
)  # fmt: skip


def find(context: Context) -> Iterator[Violation]:
    sites = context.sites
    trains = [c for c in sites.graph_minimizes if not _is_held_back(context, c)]
    if not trains or sites.tapes or not (sites.estimators or _runs_graphs(context)):
        return
    layers = list(_layers(context))
    if not layers or len(trains) < len(sites.graph_minimizes) or _is_mentioned(context):
        return
    always = all(_is(context, mode, True) for _, mode in layers)
    message = "nothing runs the updates of batch normalization, whose moving averages stay at 0 and 1: "
    use = "inference, if there is any, will be wrong" if always else "inference is wrong"
    yield RESTRICTION.at(
        context,
        trains[0],
        f"{message}{use}; let the train op wait for `tf.get_collection(tf.GraphKeys.UPDATE_OPS)`",
        severity=Severity.INFORMATION if always else Severity.WARNING,
        related=[context.related(layer, "normalized here") for layer, _ in layers[:3]],
        fixes=[_fix(context, trains)],
    )


def _runs_graphs(context: Context) -> bool:
    """Whether a session runs something, be it made elsewhere."""
    calls = context.sites.method_calls("run")
    receivers = [c.func.value for c in calls if isinstance(c.func, ast.Attribute)]
    return bool(context.sites.monitored) or any(context.sites.graph.is_session(e) for e in receivers)


def _layers(context: Context) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """The layers that may train, each with what says so; None for one that trains unless it's told otherwise."""
    for call in context.syntax.calls:
        name = context.names.of(call.func) or ""
        if name in _FUNCTIONS:
            word = _FUNCTIONS[name]
        elif not name and any(context.names.of(c.func) == _CLASS for c in context.values.calls(call.func)):
            word = "training"
        else:
            continue
        mode = next((k.value for k in call.keywords if k.arg == word), None)
        if has_unpacking(call) or (mode is None and word == "training"):
            continue
        if mode is None or not _is(context, mode, False):
            yield call, mode


def _is(context: Context, mode: ast.expr | None, value: bool) -> bool:
    """Whether a mode is always this constant."""
    if mode is None:
        return value
    nodes = [o.node for o in context.values.origins(mode)]
    return all(isinstance(n, ast.Constant) and n.value is value for n in nodes)


def _is_mentioned(context: Context) -> bool:
    """Whether something in the script may run the updates, or put them elsewhere."""
    return any(
        word in _RUNNING or "update_op" in word.lower() for n in context.syntax.nodes for word in _words(n)
    )


def _words(n: ast.AST) -> Iterator[str]:
    match n:
        case (
            ast.Name(id=word)
            | ast.Attribute(attr=word)
            | ast.keyword(arg=str() as word)
            | ast.alias(name=word)
        ):
            yield word
        case ast.Constant(value=str() as word) if not word.startswith(
            "moving_"
        ):  # a variable's name, to find it by
            yield word


def _is_held_back(context: Context, train: ast.Call) -> bool:
    """Whether a train op waits for something already."""
    return any(
        isinstance(item.context_expr, ast.Call)
        and context.names.last(item.context_expr.func) == "control_dependencies"
        for a in context.syntax.ancestors(train)
        if isinstance(a, ast.With)
        for item in a.items
    )


def _fix(context: Context, trains: list[ast.Call]) -> Fix | None:
    tensorflow = context.module.tensorflow_name()
    waits = f"{tensorflow}.get_collection({tensorflow}.GraphKeys.UPDATE_OPS)"
    statements = dict.fromkeys(context.syntax.statement(train) for train in trains)
    edits = [under(context, statement, waits) for statement in statements]
    if None in edits:
        return None
    return Fix("Let training wait for the updates", tuple(edit for edit in edits if edit is not None))


RESTRICTION = Restriction(
    "HVD343",
    "updates-not-run",
    "what batch normalization keeps for inference must be updated by something",
    Severity.WARNING,
    __doc__ or "",
    find,
    asks=False,
)
