"""HVD304 gradients-not-averaged: what trains on several ranks must average its gradients.

## What it protects
A rank that applies gradients of its own rows only trains a model of its own. Nothing fails, and what rank 0 saves is what one
process would have trained with 1/size() of the rows.

## When it is reported
On what trains, where the optimizer and the tape are seen and neither averages: a `fit` whose model is compiled with a plain
optimizer; a `minimize` of a plain optimizer in a graph; `apply_gradients` with the gradients of a plain tape, or in a graph of
`tf.gradients` or a plain optimizer's `compute_gradients`, also where `DistributedOptimizer` is around its optimizer. That one
averages in `fit` and `minimize` only: since TensorFlow 2.4, its `apply_gradients` applies what it is given. Not where the
gradients pass through a collective, or anything that can't be seen. Where none of that is seen, on `DistributedOptimizer` and
`DistributedGradientTape` of which nothing uses what they give, also in a module that trains for others. As information, where
the model is of a class that can't be seen: its `train_step` may average.

Where Keras 3 is known to train, also on a `fit` or `train_on_batch` of a model that is compiled with Horovod's own wrapper: it
replaces methods that Keras 3 no longer calls, and averages nothing, without an error. Not where the script stops under Keras 3.

In a script of `horovod.torch` that shows all of itself, on the `step` of an optimizer of PyTorch's that nothing wraps, where
nothing averages gradients by hand either; and on `clip_grad_norm_` before the `step` of a wrapped one: it clips while the
gradients are still averaged.

## Quick fix
Wrap the optimizer where it is given, if that is an object, or the tape before its gradients are taken. None under Keras 3:
import `horovod_keras3` as `hvd` (`pip install 'horovodize[runtime]'` has it), or distribute what it was before Horovod.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD304
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01 * hvd.size()), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD304
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD304

for x, y in batches:
    step(x, y)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
for x in batches:
    with tf.GradientTape() as tape:
        loss = optimizer.get_scaled_loss(tf.reduce_mean(model(x) ** 2))
    scaled = tape.gradient(loss, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(scaled)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD304
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
weights = tf.trainable_variables()
optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size()))
train = optimizer.apply_gradients(zip(tf.gradients(loss, weights), weights))  # HVD304
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for rows in batches:
        session.run(train, {x: rows})
```

```python
import torch
import horovod.torch as hvd

hvd.init()
torch.cuda.set_device(hvd.local_rank())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()  # HVD304
```

```python
import torch
import horovod.torch as hvd

hvd.init()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # HVD304
    optimizer.step()
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def optimizer_of(name, rate, distributed):
    optimizer = getattr(tf.keras.optimizers, name)(rate)
    if distributed:
        hvd.DistributedOptimizer(optimizer)  # HVD304
    return optimizer
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def optimizer_of(name, rate, distributed):
    optimizer = getattr(tf.keras.optimizers, name)(rate)
    wrapped = hvd.DistributedOptimizer(optimizer)
    return wrapped if distributed else optimizer

def test_wrapping_needs_an_optimizer():
    with pytest.raises(ValueError):
        hvd.DistributedOptimizer(3)
```

```python
import torch
import horovod.torch as hvd

hvd.init()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.synchronize()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    with optimizer.skip_synchronize():
        optimizer.step()
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
weights = tf.trainable_variables()
plain = tf.train.GradientDescentOptimizer(0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(plain)
computed = optimizer.compute_gradients(loss, weights)
train = optimizer.apply_gradients([(tf.clip_by_norm(g, 1.0), w) for g, w in computed])
same = plain.apply_gradients(optimizer.compute_gradients(loss, weights))
means = [hvd.allreduce(g) for g in tf.gradients(loss, weights)]
other = plain.apply_gradients(zip(means, weights))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for rows in batches:
        session.run(train, {x: rows})
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
model.fit(rows.shard(hvd.size(), hvd.rank()))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [hvd.allreduce(g) for g in gradients]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
if hvd.size() > 1:
    optimizer = hvd.DistributedOptimizer(optimizer)
model.compile(optimizer, "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Source
Horovod's guide for TensorFlow, steps 4 and 5; `_keras/__init__.py` of Horovod 0.28.1; Horovod's issues 2893 and 2880.
Under Keras 3: trained on two ranks (TensorFlow 2.21); `horovodize doctor` repeats it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod_use import COLLECTIVES, TAPES, WRAPPERS
from horovodize.facts.optimizers import Arrival
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_training, unused_wrappers
from horovodize.restrictions.horovod.mending import horovod, keras, stands_alone, tapes, wrapped
from horovodize.restrictions.horovod.unseen_models import is_of_unseen_class, last_before
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.site_kinds import Fit, Update
from horovodize.summary.syntax import FUNCTIONS, LOOPS, argument
from horovodize.world.versions import before
from horovodize.world.world import Keras

_APPLIES_ONLY = (2, 4)  # the first TensorFlow whose Keras optimizers no longer do
_OF_GRAPHS = ("tensorflow.gradients", "tensorflow.compat.v1.gradients")
_ESTIMATORS = ("tensorflow.estimator.Estimator", "tensorflow.compat.v1.estimator.Estimator")
_BUILTINS = ("zip", "list", "tuple", "enumerate", "len", "map", "filter", "reversed", "sorted")


# Packages whose variables lie on several ranks, and whose gradients are exchanged as they are taken.
_EXCHANGING = (
    "sparse_operation_kit",
    "distributed_embeddings",
    "hybridbackend",
    "tensorflow_recommenders_addons",
)


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.of_torch:
        yield from torch_training.not_averaged(context, RESTRICTION)
        return
    if not use.calls("size", *TAPES, *WRAPPERS, *COLLECTIVES, "BroadcastGlobalVariablesCallback"):
        return
    if context.module.imports("horovod_keras3", *_EXCHANGING):
        return
    found = [*_fits(context), *_updates(context), *_minimizes(context)]
    yield from found or unused_wrappers.find(context, RESTRICTION)


def _fits(context: Context) -> Iterator[Violation]:
    sites, use = context.sites, context.facts.horovod
    by_keras_3 = context.world.keras is Keras.THREE and not sites.is_tf1 and not _stops_by_keras(context)
    for fit in sites.fits:
        compiles = [
            c
            for c in sites.compiles
            if _is_same(context, c.model, fit.model) and not _by_strategy(context, c.call)
        ]
        compiles = last_before(context, fit.call, compiles)
        given = [e for c in compiles for e in c.optimizers]
        if by_keras_3 and _is_ignored(context, fit, given):
            yield RESTRICTION.at(
                context,
                fit.call,
                "each rank trains a model of its own under Keras 3: Horovod's own `DistributedOptimizer` averages nothing "
                "there, without an error; take it from `horovod_keras3`",
                related=[context.related(compiles[0].call, "compiled here")],
            )
            continue
        if not compiles or len(given) != len(compiles) or not all(is_plain(context, e) for e in given):
            continue
        if sites.own_step(fit.model) is not None or not use.runs(fit.call) or _is_elsewhere(context, fit):
            continue
        unseen = is_of_unseen_class(context, fit.model)
        yield RESTRICTION.at(
            context,
            fit.call,
            "each rank trains a model of its own here"
            + (", unless its class averages in a `train_step`" if unseen else "")
            + ": the optimizer that it is compiled with averages nothing; give `compile` `hvd.DistributedOptimizer(optimizer)`",
            severity=Severity.INFORMATION if unseen else None,
            related=[context.related(compiles[0].call, "compiled here")],
            fixes=[_wrap(context, given[0], keras(context))] if len(compiles) == 1 else [],
        )


def _by_strategy(context: Context, compiled: ast.Call) -> bool:
    """Whether a model is compiled for TensorFlow's own strategy, which averages: `with strategy.scope():`."""
    return any(
        isinstance(item.context_expr, ast.Call) and context.names.last(item.context_expr.func) == "scope"
        for a in context.syntax.ancestors(compiled)
        if isinstance(a, ast.With)
        for item in a.items
    )


def _is_ignored(context: Context, fit: Fit, optimizers: list[ast.expr]) -> bool:
    """Whether Horovod's wrapper is around an optimizer that Keras' own step uses, not one of the script's with a tape."""
    use, wrapped = context.facts.horovod, (_wrappers(context, e) for e in optimizers)
    own = context.sites.own_step(fit.model) is not None
    return not own and use.runs(fit.call) and any(any(w or ()) for w in wrapped)


def _stops_by_keras(context: Context) -> bool:
    """Whether a script raises an error by a test of Keras, as those do that are distributed where Keras isn't known."""
    for node in context.syntax.every(ast.If, ast.Assert):
        stops = isinstance(node, ast.Assert) or (
            isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        )
        if not isinstance(node, (ast.If, ast.Assert)) or not stops:
            continue
        names = (
            context.names.of(e) or "" for e in ast.walk(node.test) if isinstance(e, ast.Name | ast.Attribute)
        )
        if any(f"{name}.".startswith(("keras.", "tensorflow.keras.")) for name in names):
            return True
    return False


def _is_same(context: Context, compiled: ast.expr, fitted: ast.expr) -> bool:
    return context.text(compiled) == context.text(fitted) or bool(
        set(context.values.calls(compiled)) & set(context.values.calls(fitted))
    )


def _is_elsewhere(context: Context, fit: Fit) -> bool:
    """Whether a model may be another than is compiled here, or some ranks alone fit it."""
    made = context.values.calls(fit.model)
    loaded = any(context.facts.horovod.is_call(c, "load_model") for c in made)
    if not context.facts.horovod.on_ranks(
        fit.call
    ):  # it trains alone, beside a function that Spark runs on ranks
        return True
    return loaded or context.facts.rank_tests.may_be_guarded(fit.call)


def is_plain(context: Context, optimizer: ast.expr) -> bool:
    """Whether an optimizer is surely one of TensorFlow's, with nothing of Horovod around it."""
    return all(_arrives_plain(context, a) for a in context.facts.optimizers.arrivals(optimizer))


def _arrives_plain(context: Context, arrival: Arrival) -> bool:
    node = arrival.node
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return not arrival.part and (is_text or (isinstance(node, ast.Call) and _is_tensorflows(context, node)))


def _is_tensorflows(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    return name.startswith("tensorflow.") and context.module.is_optimizer(call)


def _wrappers(context: Context, optimizer: ast.expr) -> list[bool] | None:
    """Of each optimizer that may come here, whether Horovod's is around it; None where one can't be told."""
    use, arrivals = context.facts.horovod, context.facts.optimizers.arrivals(optimizer)
    wrapped = [use.is_call(a.node, *WRAPPERS) for a in arrivals]
    seen = all(w or _arrives_plain(context, a) for w, a in zip(wrapped, arrivals, strict=True))
    return wrapped if seen else None


def _updates(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for update in context.sites.updates:
        if update.method != "apply_gradients" or update.optimizer is None or not _are_own(context, update):
            continue
        wrappers = _wrappers(context, update.optimizer)
        wrapped = any(wrappers or ())
        if (wrapped or wrappers is None) and before(context.world.tensorflow, _APPLIES_ONLY):
            continue
        if update.step_of is None and wrappers is None:
            continue
        if update.step_of is None and not use.runs(update.call):
            continue
        if context.facts.rank_tests.may_be_guarded(update.call):
            continue
        why = "`DistributedOptimizer` averages in `fit` and `minimize` only, and `apply_gradients` applies what it is given"
        if wrappers is not None and not wrapped:
            why = "neither the tape nor the optimizer averages"
        yield RESTRICTION.at(
            context,
            update.call,
            f"each rank applies gradients of its own here: {why}; take them from `hvd.DistributedGradientTape(tape)`",
            related=[context.related(update.gradients[0], "the gradients of this rank's rows")],
            fixes=[_wrap_tape(context, update)],
        )


def _wrap(context: Context, optimizer: ast.expr, name: str | None) -> Fix | None:
    """Wraps an optimizer where it is given, unless that is a name of one."""
    if isinstance(optimizer, ast.Constant):
        return None
    edits = wrapped(context, optimizer, "DistributedOptimizer", name)
    return Fix("Average its gradients", edits) if edits else None


def _wrap_tape(context: Context, update: Update) -> Fix | None:
    """`tape = hvd.DistributedGradientTape(tape)` before the statement that takes the gradients, if that is after the `with`."""
    name, call = tapes(context), update.gradients[0]
    statement = context.syntax.statement(call)
    if name is None or len(update.gradients) != 1 or not stands_alone(context, statement):
        return None
    tape = call.func.value if isinstance(call.func, ast.Attribute) else None
    bindings = context.scopes.reaching(tape) if isinstance(tape, ast.Name) else []
    if not isinstance(tape, ast.Name) or len(bindings) != 1 or bindings[0].kind != "with":
        return None
    if context.syntax.inside(call, bindings[0].statement) or isinstance(statement, LOOPS):
        return None
    text = f"{tape.id} = {name}.DistributedGradientTape({tape.id})"
    after = context.document.newline + context.document.indentation(statement)
    return Fix("Average the gradients", (Edit.insert(context.module.span(statement).start, text + after),))


def _are_own(context: Context, update: Update) -> bool:
    """Whether the gradients are surely those of plain tapes, as they are."""
    pairs = argument(update.call, "grads_and_vars", 0) or argument(update.call, "grads", 0)
    if pairs is None or not update.gradients:
        return False
    sources = context.sites.flow.flow_from(_gradients_of(context, pairs), lambda c: _ends(context, c))
    return bool(sources) and all(c in update.gradients and _is_of_plain_tape(context, c) for c in sources)


def _gradients_of(context: Context, pairs: ast.expr) -> ast.expr:
    """Of gradients that are paired with variables where they are applied, the gradients: what made the model is not asked."""
    paired = isinstance(pairs, ast.Call) and context.is_builtin(pairs.func, "zip") and len(pairs.args) == 2
    return pairs.args[0] if isinstance(pairs, ast.Call) and paired else pairs


def _ends(context: Context, call: ast.Call) -> bool:
    """Whether a call gives gradients, or something that can't be followed to them."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("gradient", "jacobian"):
        return True
    name = context.names.of(func)
    if name is not None:
        return not name.startswith(("tensorflow.", "numpy.", "argparse."))
    if context.is_builtin(func, *_BUILTINS) or (
        isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "parse_args")
    ):
        return False
    return context.values.callee(call) is None


def _is_of_plain_tape(context: Context, gradient: ast.Call) -> bool:
    assert isinstance(gradient.func, ast.Attribute)
    use, never = context.facts.horovod, context.facts.never_run
    origins = context.values.origins(gradient.func.value)
    # A wrapped tape is none where all calls leave it out: `step(x, y, averaged=False)`.
    left = [
        o for o in origins if o.call is None or not use.is_call(o.call, *TAPES) or not never.is_at(o.call)
    ]
    return bool(left) and all(o.call is not None and o.call in context.sites.tapes for o in left)


def _may_be_handed_on(context: Context, call: ast.Call) -> bool:
    """Whether a function that stands around a call, an Estimator's model, say, is given to what runs it."""
    around = [a for a in context.syntax.ancestors(call) if isinstance(a, (*FUNCTIONS, ast.ClassDef))]
    if context.facts.horovod.is_whole and around and context.module.loads.get(around[-1].name):
        return True
    models = [argument(made, "model_fn", 0) for made in context.module.calls_of(*_ESTIMATORS)]
    given = {o.node for e in models if e is not None for o in context.values.origins(e)}
    ways = [way for way in context.ways(call) if any(frame.function in given for frame in way)]
    return bool(ways)


def _applies(context: Context, call: ast.Call) -> Iterator[Violation]:
    """A graph's train op of gradients that nothing has averaged."""
    if not context.sites.builds_graph or not (
        context.facts.horovod.runs(call) or _may_be_handed_on(context, call)
    ):
        return
    why = _applies_plain(context, call)
    if why and not context.facts.rank_tests.may_be_guarded(call):
        yield RESTRICTION.at(
            context,
            call,
            f"each rank applies gradients of its own with this: {why}; take them from the `compute_gradients` of a "
            "`hvd.DistributedOptimizer`",
        )


def _applies_plain(context: Context, call: ast.Call) -> str:
    """Why a graph's `apply_gradients` surely averages nothing; "" where it may."""
    pairs = argument(call, "grads_and_vars", 0)
    if pairs is None or not isinstance(call.func, ast.Attribute):
        return ""
    sources = context.sites.flow.flow_from(pairs, lambda c: _ends_in_graph(context, c))
    if not sources or not all(context.names.of(c.func) in _OF_GRAPHS or _computes(c) for c in sources):
        return ""
    plain = all(
        context.names.of(c.func) in _OF_GRAPHS or is_plain(context, c.func.value)  # type: ignore[attr-defined]
        for c in sources
    )
    wrappers = _wrappers(context, call.func.value)
    if not plain or wrappers is None:
        return ""
    return (
        "the optimizer averages what it computes itself, not what it is given"
        if any(wrappers)
        else "nothing averages them"
    )


def _computes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "compute_gradients"


def _ends_in_graph(context: Context, call: ast.Call) -> bool:
    """The same as `_ends`, for graphs."""
    name = context.names.of(call.func) or ""
    if name in _OF_GRAPHS or _computes(call):
        return True
    return "trainable_variables" not in name and "get_collection" not in name and _ends(context, call)


def _minimizes(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for call in context.sites.graph_minimizes:
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "apply_gradients":
            yield from _applies(context, call)
        if call.func.attr != "minimize":
            continue
        if not is_plain(context, call.func.value) or not (use.runs(call) or _may_be_handed_on(context, call)):
            continue
        if context.facts.rank_tests.may_be_guarded(call):
            continue
        yield RESTRICTION.at(
            context,
            call,
            "each rank trains a model of its own with this: the optimizer averages nothing; wrap it in "
            "`hvd.DistributedOptimizer(optimizer)`",
            fixes=[_wrap(context, call.func.value, horovod(context))],
        )


RESTRICTION = Restriction(
    "HVD304",
    "gradients-not-averaged",
    "what trains on several ranks must average its gradients",
    Severity.WARNING,
    __doc__ or "",
    find,
)
