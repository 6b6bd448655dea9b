"""HVD306 not-broadcast: all ranks must start with the same weights.

## What it protects
Each process draws weights of its own. Averaged gradients keep the difference: ranks train different models, and each gets the
gradients of the others.

## When it is reported
On the first loop that trains, in a script that shows all of itself, averages gradients, and neither broadcasts anything nor
sets a seed nor loads weights on all ranks; and on a broadcast from `size()`, a rank that isn't there.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y)  # HVD306
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(hvd.size())]  # HVD306
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=callbacks)
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y)
```

## Source
Horovod's guide for TensorFlow, step 6.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.facts.horovod_use import TAPES, WRAPPERS
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary.syntax import argument, has_unpacking

# What bears such a name may give all ranks the same weights.
_SAME = re.compile(
    r"roadcast|seed|set_weights|restore|assign|elastic|load_(weights|model|check|state|var|param|pretrained)|from_pretrained"
)
_LOADS = re.compile(r"load|restore|set_weights|assign")
_ROOTS = {  # what sends, and at which place it is given the rank that sends
    "broadcast": 1,
    "broadcast_variables": 1,
    "broadcast_object": 1,
    "broadcast_global_variables": 0,
    "BroadcastGlobalVariablesCallback": 0,
    "BroadcastGlobalVariablesHook": 0,
}
_VALUES = (
    "broadcast",
    "broadcast_object",
)  # they give a value; what puts it into weights has another of these names


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if (
        not context.loops
        or not use.calls(*WRAPPERS, *TAPES)
        or not (use.is_whole or _shows_callbacks(context))
    ):
        return
    yield from _from_nobody(context)
    if any(_may_make_same(context, node) for node in _named(context)) or _has_seeded_weights(context):
        return
    loop = context.loops[0]
    if not use.runs(loop.node) or context.facts.rank_tests.may_be_guarded(loop.node):
        return
    yield RESTRICTION.at(
        context,
        loop.node,
        "ranks start with different weights, and go on with different ones: broadcast rank 0's, with "
        "`hvd.callbacks.BroadcastGlobalVariablesCallback(0)`, `hvd.BroadcastGlobalVariablesHook(0)` or, after the first step, "
        "`hvd.broadcast_variables`",
    )


def _named(context: Context) -> Iterator[ast.expr]:
    """What is read and bears a name that may give all ranks the same weights."""
    for name in context.module.loads:
        if _SAME.search(name):
            yield from context.module.loads.get(name)


def _may_make_same(context: Context, node: ast.expr) -> bool:
    """Whether that is so: not where one rank alone loads or restores, nor where only a number is sent."""
    use, tests = context.facts.horovod, context.facts.rank_tests
    call = context.syntax.parent.get(node)
    if isinstance(call, ast.Call) and call.func is node and use.is_call(call, *_VALUES):
        return False
    alone = tests.deciding(node) is not None
    return not (alone and _LOADS.search(context.names.last(node)))


def _from_nobody(context: Context) -> Iterator[Violation]:
    """Broadcasts from the rank after the last one: ranks count from 0."""
    use = context.facts.horovod
    for call in use.calls(*_ROOTS):
        root = argument(call, "root_rank", _ROOTS[use.name_of(call).rsplit(".", 1)[-1]])
        if root is not None and use.is_call(root, "size"):
            yield RESTRICTION.at(
                context,
                root,
                "there is no rank `size()`, since ranks count from 0, and the broadcast fails: send from rank 0",
            )


def _has_seeded_weights(context: Context) -> bool:
    return any(
        k.arg == "seed" and "initializer" in (context.names.of(call.func) or "").lower()
        for call in context.syntax.calls
        for k in call.keywords
    )


def _shows_callbacks(context: Context) -> bool:
    """Whether all that trains is a `fit` whose callbacks and model are seen: modules beside have nothing to broadcast with."""
    items = context.facts.callback_items
    fits = {f.call: f for f in context.sites.fits}
    for loop in context.loops:
        fit = fits.get(loop.node)
        if fit is None or has_unpacking(fit.call):
            return False
        classes = [items.classes(item) for item in items.of(fit.call)]
        if not all(c and all(name.startswith(("tensorflow.", "horovod.")) for name in c) for c in classes):
            return False
        if not context.values.class_names(fit.model) or _is_given_away(context, fit.model):
            return False
    return not context.facts.horovod.is_passed_on


def _is_given_away(context: Context, model: ast.expr) -> bool:
    """Whether a model is an argument of something that is not seen."""
    text = context.text(model)
    return any(
        context.text(given) == text
        for call in context.syntax.calls
        if not (context.names.of(call.func) or "").startswith(("tensorflow.", "horovod."))
        for given in (*call.args, *(k.value for k in call.keywords))
    )


RESTRICTION = Restriction(
    "HVD306",
    "not-broadcast",
    "all ranks must start with the same weights",
    Severity.WARNING,
    __doc__ or "",
    find,
)
