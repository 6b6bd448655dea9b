"""HVD202 unsupported-loop: the training loop must be one that can be distributed: Keras' `fit`, or a tape and an optimizer.

## What it protects
Gradients are averaged in two places only: in the optimizer that Keras is given, and in the tape whose gradients an optimizer
applies. Training that goes past both would run on every rank for itself.

## When it is reported
On Session, MonitoredSession and Estimator loops, which can't be distributed yet; on training that is distributed already, by
`tf.distribute`, parameter servers or copies on several GPUs; on weights that are updated by hand from gradients
(`w.assign_sub(rate * gradient)`); on `apply_gradients` with gradients of which no tape can be found in this file; and on
TensorFlow 1's eager `implicit_gradients`. Averages and counters that are assigned are no violation.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

w = tf.Variable(tf.zeros([3]))
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tensordot(x, w, 1) - y) ** 2)
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * gradient)  # HVD202
```

```python
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()  # HVD202
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow.compat.v1 as tf

loss = tf.reduce_mean(tf.square(w * x - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:  # HVD202
    for _ in range(100):
        session.run(train)
```

## Near misses
```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
step = tf.Variable(0)
mean = tf.Variable(0.0)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step.assign_add(1)
    mean.assign(0.9 * mean + 0.1 * loss)
```

## Source
Seed 3.1, restriction 2: "either distributed gradient tape or distributed optimizer".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.restrictions.context import DISTRIBUTABLE, Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind
from horovodize.summary.syntax import argument

_IMPLICIT = (
    "implicit_gradients",
    "implicit_value_and_gradients",
    "gradients_function",
    "value_and_gradients_function",
)
_ASSIGNS = ("assign_sub", "assign_add", "assign")


def find(context: Context) -> Iterator[Violation]:
    summary = context.summary
    if summary.already is LoopKind.OTHER_FRAMEWORK:
        if summary.loops:
            yield from _other_framework(context)
        return
    seen = set()
    for loop in summary.loops:
        if loop.kind not in DISTRIBUTABLE and loop.span not in seen:
            seen.add(loop.span)
            yield RESTRICTION.at(
                context,
                loop.node,
                f"{_article(loop.kind.label)} training loop: this kind can't be distributed yet",
            )
    yield from _by_hand(context)
    yield from _implicit(context)
    yield from _no_tape(context)
    if context.trains:
        yield from _several_gpus(context)


def _article(title: str) -> str:
    return f"{'an' if title[0] in 'AEIOU' else 'a'} {title}"


def _other_framework(context: Context) -> Iterator[Violation]:
    """The first place that distributes in another way."""
    for node in context.syntax.nodes:
        if isinstance(node, ast.Call) and (
            catalogue.is_distribution(context.names.of(node.func) or "")
            or context.names.last(node.func)
            in ("replica_device_setter", "SyncReplicasOptimizer", "ClusterSpec")
        ):
            break
    else:
        node = context.summary.loops[0].node
    yield RESTRICTION.at(
        context,
        node,
        f"this training is distributed already by `{context.text(node.func)}`; take that out first, "
        "or every process would distribute again",
    )


# ---------------------------------------------------------------------- gradients past an optimizer


def _by_hand(context: Context) -> Iterator[Violation]:
    """One violation for all updates from one gradient, at the first `assign_sub`, if there is one."""
    if not context.sites.tapes:
        return
    updates: dict[ast.Call, list[ast.Call]] = {}
    for call in context.sites.method_calls(*_ASSIGNS):
        assert isinstance(call.func, ast.Attribute)
        value = argument(call, "delta", 0) or argument(call, "value", 0)
        gradient = _gradient_of(context, value, call.func.value) if value is not None else None
        if gradient is not None:
            updates.setdefault(gradient, []).append(call)
    for gradient, calls in updates.items():
        first = min(calls, key=lambda c: context.names.last(c.func) == "assign")
        assert isinstance(first.func, ast.Attribute)
        yield RESTRICTION.at(
            context,
            first,
            f"`{context.text(first.func.value)}` is updated by hand from a gradient, which nothing averages over the ranks; "
            "use an optimizer's `apply_gradients`",
            related=[
                context.related(gradient, "the gradient"),
                *(context.related(c, "updated by hand, too") for c in calls if c is not first),
            ],
        )


def _implicit(context: Context) -> Iterator[Violation]:
    if "gradients" not in context.document.text:
        return
    for call in context.syntax.calls:
        if context.names.last(call.func) in _IMPLICIT and (context.names.of(call.func) or "").startswith(
            "tensorflow"
        ):
            yield RESTRICTION.at(
                context,
                call,
                "gradients without a tape: nothing averages them over the ranks; use `tf.GradientTape`",
            )


def _gradient_of(context: Context, value: ast.expr, variable: ast.expr) -> ast.Call | None:
    """The gradient with respect to a variable that a value is made of."""
    for gradient in context.sites.gradient_calls(value):
        sources = argument(gradient, "sources", 1)
        if sources is not None and _named_in(context, [sources]) & _named_in(context, [variable]):
            return gradient
    return None


def _named_in(context: Context, expressions: list[ast.expr]) -> set[str]:
    """What variables expressions are made of, by the names and attributes that stand for them."""
    found = set()
    for node in context.values.depends(expressions, 200):
        if isinstance(node, ast.Name) and context.scopes.lookup(node.id, node) is not None:
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return found - {"self", "tf", "np", context.module.tensorflow_name() or "tf"}


def _no_tape(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    loops = {loop.node for loop in context.loops}
    for update in context.sites.updates:
        if update.method == "apply_gradients" and not update.gradients and update.call in loops:
            yield RESTRICTION.at(
                context,
                update.call,
                "the tape that these gradients come from can't be found in this file, so nothing averages them over the ranks; "
                "take the gradients here",
            )


# ---------------------------------------------------------------------- several GPUs by hand


def _several_gpus(context: Context) -> Iterator[Violation]:
    if "gpu" not in context.document.text.lower():
        return
    for call in context.syntax.calls:
        last = context.names.last(call.func)
        if last == "multi_gpu_model":
            yield RESTRICTION.at(
                context,
                call,
                "this copies the model to several GPUs of one process; with Horovod each has one: leave it out",
            )
        elif (
            context.names.of(call.func) in ("tensorflow.device", "tensorflow.compat.v1.device") and call.args
        ):
            device = context.module.text(call.args[0])
            if re.search(r"gpu:(?!0\b)", device, re.I):
                yield RESTRICTION.at(
                    context,
                    call,
                    f"`{context.text(call.args[0])}`: each process sees one GPU only, as GPU 0; leave the device to TensorFlow",
                )


RESTRICTION = Restriction(
    "HVD202",
    "unsupported-loop",
    "the training loop must be one that can be distributed: Keras' `fit`, or a tape and an optimizer",
    Severity.WARNING,
    __doc__ or "",
    find,
)
