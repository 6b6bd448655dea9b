"""HVD304 gradients-not-averaged: what trains on several ranks must average its gradients.

## What it protects
A rank that applies gradients of its own rows only trains a model of its own. Nothing fails, and what rank 0 saves is what one
process would have trained with 1/size() of the rows.

## When it is reported
On what trains, where the optimizer and the tape are seen and neither averages: a `fit` whose model is compiled with a plain
optimizer, also by an option, after a wrapped one; a `minimize` of a plain optimizer in a graph; `apply_gradients` with the
gradients of a plain tape, or in a graph of `tf.gradients` or a plain optimizer's `compute_gradients`, also where
`DistributedOptimizer` is around its optimizer. That one averages in `fit` and `minimize` only: since TensorFlow 2.4, its
`apply_gradients` applies what it is given. Not where the gradients pass through a collective, or anything that can't be seen,
nor where the weights themselves are averaged; but also where variables add up gradients of plain tapes in a script that
averages nothing. Where none of that is seen, on `DistributedOptimizer` and `DistributedGradientTape` of which nothing uses
what they give, also in a module that trains for others. As information, where the model is of a class that can't be seen: its
`train_step` may average.

Where Keras 3 is known to train, also on a `fit` or `train_on_batch` of a model that is compiled with Horovod's own wrapper: it
replaces methods that Keras 3 no longer calls, and averages nothing, without an error. Not where the script stops under Keras
3.

In a script of `horovod.torch` that shows all of itself, on the `step` of an optimizer of PyTorch's that nothing wraps, where
nothing averages gradients by hand either; and on `clip_grad_norm_` before the `step` of a wrapped one: it clips while the
gradients are still averaged.

Also on an update whose tape is wrapped in some steps of a loop only, or whose gradients the script averages itself in some of
them only, and on a plain optimizer that minimizes in a model's own `train_step`.

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

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

def step(x, exchange):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape) if exchange else tape
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # HVD304

for i, x in enumerate(batches):
    step(x, i % 4 == 0)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

class Gan(tf.keras.Model):
    def __init__(self, critic_optimizer):
        super().__init__()
        self.critic = tf.keras.layers.Dense(1)
        self.critic_optimizer = critic_optimizer

    def train_step(self, x):
        loss = lambda: tf.reduce_mean(self.critic(x))
        self.critic_optimizer.minimize(loss, self.critic.trainable_variables)  # HVD304
        return {}

hvd.init()
gan = Gan(tf.keras.optimizers.Adam(0.001 * hvd.size()))
gan.compile()
gan.fit(batches, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import sys
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
if "--fine" in sys.argv:
    model.compile(tf.keras.optimizers.SGD(0.001 * hvd.size()), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD304
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
if hvd.size() == 1:
    model.compile(tf.keras.optimizers.SGD(0.001), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())

def step(x, exchange):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape) if exchange else tape
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

for x in batches:
    step(x, hvd.size() > 1)
```

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

from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import COLLECTIVES, TAPES, WRAPPERS
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_training, unused_wrappers
from horovodize.restrictions.horovod.averaged_in_part import seldom_averaged
from horovodize.restrictions.horovod.compiled_by_option import compiled_by_option
from horovodize.restrictions.horovod.fitted_optimizers import (
    by_strategy,
    is_elsewhere,
    is_ignored,
    is_same,
    stops_by_keras,
)
from horovodize.restrictions.horovod.mending import keras
from horovodize.restrictions.horovod.own_gradients import (
    are_own,
    averages_nothing,
    averages_weights,
    wrap_tape,
)
from horovodize.restrictions.horovod.own_train_ops import minimizes, minimizes_apart, wrap
from horovodize.restrictions.horovod.plain_optimizers import is_plain, wrappers_of
from horovodize.restrictions.horovod.unseen_models import is_of_unseen_class, last_before
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.world.versions import before
from horovodize.world.world import Keras

_APPLIES_ONLY = (2, 4)  # the first TensorFlow whose Keras optimizers no longer do


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
    found = [*_fits(context), *_updates(context), *minimizes(context, RESTRICTION)]
    yield from found or unused_wrappers.find(context, RESTRICTION)


def _fits(context: Context) -> Iterator[Violation]:
    sites, use = context.sites, context.facts.horovod
    by_keras_3 = context.world.keras is Keras.THREE and not sites.is_tf1 and not stops_by_keras(context)
    for fit in sites.fits:
        compiles = [
            c
            for c in sites.compiles
            if is_same(context, c.model, fit.model) and not by_strategy(context, c.call)
        ]
        compiles = last_before(context, fit.call, compiles)
        given = [e for c in compiles for e in c.optimizers]
        if by_keras_3 and is_ignored(context, fit, given):
            yield RESTRICTION.at(
                context,
                fit.call,
                "each rank trains a model of its own under Keras 3: Horovod's own `DistributedOptimizer` averages nothing "
                "there, without an error; take it from `horovod_keras3`",
                related=[context.related(compiles[0].call, "compiled here")],
            )
            continue
        by_option = compiled_by_option(context, fit.call, compiles)
        if by_option is not None:
            compiles, given = [by_option[0]], list(by_option[0].optimizers)
        if not compiles or len(given) != len(compiles) or not all(is_plain(context, e) for e in given):
            continue
        if sites.own_step(fit.model) is not None or not use.runs(fit.call) or is_elsewhere(context, fit):
            continue
        unseen = is_of_unseen_class(context, fit.model)
        yield RESTRICTION.at(
            context,
            fit.call,
            "each rank trains a model of its own here"
            + (f" where `{context.text(by_option[1].test)}`" if by_option is not None else "")
            + (", unless its class averages in a `train_step`" if unseen else "")
            + ": the optimizer that it is compiled with averages nothing; give `compile` `hvd.DistributedOptimizer(optimizer)`",
            severity=Severity.INFORMATION if unseen else None,
            related=[context.related(compiles[0].call, "compiled here")],
            fixes=[wrap(context, given[0], keras(context))] if len(compiles) == 1 else [],
        )


def _updates(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    for update in context.sites.updates:
        if update.method == "minimize":
            yield from minimizes_apart(context, RESTRICTION, update)
        if update.method != "apply_gradients" or update.optimizer is None:
            continue
        test = seldom_averaged(context, update)
        if test is not None and use.runs(update.call) and not averages_weights(context):
            yield RESTRICTION.at(
                context,
                update.call,
                "each rank applies gradients of its own here in the turns in which they are not averaged, and weights part: "
                "average them in every step, by `hvd.DistributedGradientTape(tape)`",
                related=[context.related(test, "decides whether they are averaged")],
            )
            continue
        if not are_own(context, update) and not averages_nothing(context, update):
            continue
        if averages_weights(context):
            continue
        wrappers = wrappers_of(context, update.optimizer)
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
            fixes=[wrap_tape(context, update)],
        )


RESTRICTION = Restriction(
    "HVD304",
    "gradients-not-averaged",
    "what trains on several ranks must average its gradients",
    Severity.WARNING,
    __doc__ or "",
    find,
)
