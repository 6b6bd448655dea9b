"""HVD306 not-broadcast: all ranks must start with the same weights.

## What it protects
Each process draws weights of its own. Averaged gradients keep the difference: ranks train different models, and each gets the
gradients of the others.

## When it is reported
On the first loop that trains, in a script that shows all of itself (or gives nothing that trains to what isn't seen), averages
gradients, and neither broadcasts anything nor sets a seed nor loads weights on all ranks (a callback, hook or operation that
broadcasts counts only if something gets it, and not where it never runs: under `if False:`, behind `[] and`, under a flag that
each call passes as `False`); on a broadcast from `size()`, a rank that isn't there, or from a rank that each takes to be
another; and on a broadcast of the weights of a model that has not been called yet, and so has none (of the script's own class,
or a `Sequential` that isn't told the shape of its input): nothing is sent. Also on the update of a model, where only another
one is broadcast (also of two that one function makes, or that one list of variables trains), or a part of it alone
(`model.layers[-1].variables`), on a network that the loss asks and that is neither trained nor broadcast nor given weights, or
rank 0's weights are sent when all is trained, on a run that initialises the variables after the broadcast, on what a broadcast
misses as it is made later (layers that a model gets after it was sent, a graph's variables after the operation that sends
them, models of later turns of a loop whose first alone is sent), and, where other modules aren't seen, on what broadcasts and
is given to nothing. Weights that a rank has itself, and copies or averages for another network, make ranks no more alike; nor
does what is loaded into a part of a model whose head has weights of its own.

In such a script of `horovod.torch`, on the wrapped optimizer, where no weights are broadcast, no seed is set and not all
ranks load weights.

## Quick fix
Give the `fit` Horovod's callback; send from rank 0.

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

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=hvd.rank())  # HVD306
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.last = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.last(x)

hvd.init()
model = Net()
hvd.broadcast_variables(model.variables, root_rank=0)  # HVD306
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("weights.h5"))
model.fit(x, y)  # HVD306
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
generator = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(2,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
one, other = tf.keras.optimizers.SGD(0.01 * hvd.size()), tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(critic.variables, root_rank=0)
for x in batches:
    with tf.GradientTape() as first, tf.GradientTape() as second:
        loss = tf.reduce_mean(critic(generator(x)))
        real = -loss
    first, second = hvd.DistributedGradientTape(first), hvd.DistributedGradientTape(second)
    gradients = first.gradient(loss, generator.trainable_variables)
    one.apply_gradients(zip(gradients, generator.trainable_variables))  # HVD306
    other.apply_gradients(zip(second.gradient(real, critic.trainable_variables), critic.trainable_variables))
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
begin, send = tf.global_variables_initializer(), hvd.broadcast_global_variables(0)
with tf.Session() as session:
    session.run(begin)
    session.run(send)
    session.run(begin)  # HVD306
    for rows in batches:
        session.run(train, {x: rows})
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from project.data import batches

hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
first = hvd.BroadcastGlobalVariablesHook(0)  # HVD306
with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(100 // hvd.size())]) as session:
    while not session.should_stop():
        session.run(train, {x: next(batches)})
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if hvd.size() > 1:
    hvd.broadcast_variables(model.variables, root_rank=0)  # HVD306
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import keras
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.001 * hvd.size())
for x in tf.data.Dataset.from_tensor_slices(rows).shard(hvd.size(), hvd.rank()).batch(8).take(100):
    with tf.GradientTape() as tape:
        loss = keras.ops.mean(model(x) ** 2)
    gradients = [hvd.allreduce(g) for g in tape.gradient(loss, model.trainable_variables)]
    optimizer.apply(gradients, model.trainable_variables)  # HVD306
```

```python
import torch
import horovod.torch as hvd

hvd.init()
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())  # HVD306
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
nets = {"actor": tf.keras.Sequential([dense]), "critic": tf.keras.Sequential([other])}
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for i, x in enumerate(batches):
    for key in nets:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(nets[key](x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        weights = nets[key].trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))  # HVD306
    if i == 0:
        hvd.broadcast_variables(nets["actor"].variables, root_rank=0)
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
out = tf.layers.dense(rows, 8)
send = hvd.broadcast_global_variables(0)  # HVD306
loss = tf.reduce_mean(tf.square(tf.layers.dense(out, 1)))
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(send)
    for i in range(200 // hvd.size()):
        session.run(train)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
model = tf.keras.Sequential([model, tf.keras.layers.Dense(1)])  # HVD306
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,))])
model = tf.keras.Sequential([model, tf.keras.layers.Dense(1)])
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
nets = {"actor": tf.keras.Sequential([dense]), "critic": tf.keras.Sequential([other])}
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for i, x in enumerate(batches):
    for key in nets:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(nets[key](x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        weights = nets[key].trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    if i == 0:
        for net in nets.values():
            hvd.broadcast_variables(net.variables, root_rank=0)
```

```python
import torch
import horovod.torch as hvd

hvd.init()
model = torch.nn.Linear(3, 1)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.build((None, 4))
other = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
for step, x in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(other(model(x)) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step == 0:
        hvd.broadcast_variables(other.variables, root_rank=0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
generator = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(2,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
both = tf.keras.Sequential([generator, critic])
one, other = tf.keras.optimizers.SGD(0.01 * hvd.size()), tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(both.variables, root_rank=0)
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(both(x))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, generator.trainable_variables)
    one.apply_gradients(zip(gradients, generator.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
generator = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(2,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
one, other = tf.keras.optimizers.SGD(0.01 * hvd.size()), tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(critic.variables, root_rank=0)
for net in (generator, critic):
    hvd.broadcast_variables(net.variables, root_rank=0)
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(critic(generator(x)))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, generator.trainable_variables)
    one.apply_gradients(zip(gradients, generator.trainable_variables))
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
begin, send = tf.global_variables_initializer(), hvd.broadcast_global_variables(0)
with tf.Session() as session:
    session.run(begin)
    session.run(send)
    session.run(tf.local_variables_initializer())
    for rows in batches:
        session.run(train, {x: rows})
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
first = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
callbacks = [first]
model.fit(x, y, callbacks=callbacks)
```

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
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_weights
from horovodize.restrictions.horovod.asked_networks import asked_and_not_sent
from horovodize.restrictions.horovod.made_after_sending import after_operation, of_later
from horovodize.restrictions.horovod.mending import with_callback
from horovodize.restrictions.horovod.same_start import may_start_alike
from horovodize.restrictions.horovod.sent_before_built import is_used_between, makes_weights_late
from horovodize.restrictions.horovod.sent_in_part import sent_in_part
from horovodize.restrictions.horovod.sent_late import sent_late
from horovodize.restrictions.horovod.sent_weights import left, left_out, undone
from horovodize.restrictions.horovod.shown_callbacks import shows_callbacks
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary import LoopKind

_ROOTS = {  # what sends, and at which place it is given the rank that sends
    "broadcast": 1,
    "broadcast_variables": 1,
    "broadcast_object": 1,
    "broadcast_global_variables": 0,
    "BroadcastGlobalVariablesCallback": 0,
    "BroadcastGlobalVariablesHook": 0,
}
_LATER = "once they have values"
_WITH = {  # what broadcasts, by what trains
    LoopKind.KERAS: "with `hvd.callbacks.BroadcastGlobalVariablesCallback(0)`",
    LoopKind.GRADIENT_TAPE: "with `hvd.broadcast_variables` after the first step",
    LoopKind.SESSION: "with `hvd.broadcast_global_variables(0)`, run once after the variables are initialised",
    LoopKind.MONITORED_SESSION: "with the hook `hvd.BroadcastGlobalVariablesHook(0)`",
    LoopKind.ESTIMATOR: "with the hook `hvd.BroadcastGlobalVariablesHook(0)`",
}


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.of_torch:
        yield from torch_weights.find(context, RESTRICTION)
        return
    if not context.loops or not (use.calls(*WRAPPERS, *TAPES) or _averages_by_hand(context)):
        if not may_start_alike(context):  # what trains is made elsewhere
            yield from _for_nobody(context, in_functions=True)
        return
    yield from _too_early(context)
    if not may_start_alike(context, "broadcast_variables", "broadcast_global_variables"):
        yield from _too_late(context)
    if not may_start_alike(context, "broadcast_global_variables"):
        yield from after_operation(context, RESTRICTION)
    if not may_start_alike(context, "broadcast_variables"):
        yield from _of_one_model(context)
        yield from _of_asked(context)
        yield from _in_part(context)
        yield from of_later(context, RESTRICTION)
    seen = use.shows_training or shows_callbacks(context)
    if not seen or (not use.is_whole and left(context)):
        if not may_start_alike(context):
            yield from _for_nobody(context)
        return
    yield from _from_nobody(context)
    yield from _of_nothing(context)
    if may_start_alike(context):
        return
    never = context.facts.never_run
    wrapping = use.calls(*WRAPPERS, *TAPES)
    loop = next((loop for loop in context.loops if not never.is_at(loop.node)), None)
    if loop is None or (wrapping and all(map(never.is_at, wrapping))):
        return
    if not use.runs(loop.node) or context.facts.rank_tests.is_guarded_everywhere(loop.node):
        return
    how = _WITH.get(loop.kind, _LATER)
    yield RESTRICTION.at(
        context,
        loop.node,
        f"ranks start with different weights, and go on with different ones: broadcast rank 0's, {how}",
        fixes=[_fix(context, loop.node)],
    )


def _averages_by_hand(context: Context) -> bool:
    """Whether an optimizer is given gradients that the script has averaged: `[hvd.allreduce(g) for g in gradients]`."""
    given = [e for update in context.sites.updates for e in update.call.args[:1]]
    return any(context.facts.horovod.depends_on(e, "allreduce", "grouped_allreduce") for e in given)


def _fix(context: Context, node: ast.AST) -> Fix | None:
    """The callback that broadcasts, first in the list of the only `fit`."""
    fits = [f.call for f in context.sites.fits]
    if fits != [node] or len(context.loops) != 1:
        return None
    return with_callback(
        context, fits[0], "BroadcastGlobalVariablesCallback(0)", "Broadcast rank 0's weights first"
    )


def _for_nobody(context: Context, in_functions: bool = False) -> Iterator[Violation]:
    """What would broadcast, and is given to nothing: that is seen also where other modules aren't. Those may import a name of
    the module: `in_functions` leaves these out."""
    made = [c for c in left(context) if not in_functions or context.syntax.function(c) is not None]
    for call in made[:1]:
        yield RESTRICTION.at(
            context,
            call,
            "this broadcasts only when a training or a session gets it, and none does: ranks start with different weights",
        )


def _too_early(context: Context) -> Iterator[Violation]:
    """Broadcasts of variables that are initialised after them."""
    for run, send, again in undone(context):
        if again and may_start_alike(context, "broadcast_global_variables"):
            continue
        yield RESTRICTION.at(
            context,
            run,
            "this draws new weights on each rank, after rank 0's were sent: initialise them before the broadcast"
            if again
            else "the variables have no values before this, and the broadcast of them fails: initialise them before it",
            related=[context.related(send, "broadcast here")],
        )


def _too_late(context: Context) -> Iterator[Violation]:
    """Broadcasts of what has been trained."""
    for trains, send in sent_late(context):
        yield RESTRICTION.at(
            context,
            trains,
            "ranks start with different weights, and rank 0's are sent when all is trained: broadcast them before, or after "
            "the first step",
            related=[context.related(send, "broadcast here")],
        )


def _of_one_model(context: Context) -> Iterator[Violation]:
    """Models that are trained and not sent, beside others that are."""
    for update, model, sent in left_out(context):
        if not context.facts.rank_tests.may_be_guarded(update.call):
            yield RESTRICTION.at(
                context,
                update.call,
                f"ranks train a different `{context.text(model)}` each: its weights are never sent from rank 0, as those of "
                "the other model are",
                related=[context.related(sent, "those of another model are sent here")],
            )


def _of_asked(context: Context) -> Iterator[Violation]:
    """Networks that the loss asks, and that are neither trained nor sent."""
    for call, model, sent in asked_and_not_sent(context):
        if not context.facts.rank_tests.may_be_guarded(call):
            yield RESTRICTION.at(
                context,
                call,
                f"each rank has another `{context.text(model)}`, which the loss asks: its weights are drawn, and never sent "
                "from rank 0, as those of the other model are",
                related=[context.related(sent, "those of another model are sent here")],
            )


def _in_part(context: Context) -> Iterator[Violation]:
    """Models of which a part alone is sent."""
    for update, model, sent in sent_in_part(context):
        if not context.facts.rank_tests.may_be_guarded(update.call):
            yield RESTRICTION.at(
                context,
                update.call,
                f"ranks train a different `{context.text(model)}` each: rank 0's weights are not all sent to them",
                related=[context.related(sent, "this is all that is sent")],
            )


def _from_nobody(context: Context) -> Iterator[Violation]:
    """Broadcasts from the rank after the last one: ranks count from 0."""
    use = context.facts.horovod
    for call in use.calls(*_ROOTS):
        root = argument(call, "root_rank", _ROOTS[use.name_of(call).rsplit(".", 1)[-1]])
        if root is None:
            continue
        zero = Fix("Send from rank 0", (Edit(context.module.span(root), "0"),))
        if use.is_call(root, "size"):
            yield RESTRICTION.at(
                context,
                root,
                "there is no rank `size()`, since ranks count from 0, and the broadcast fails: send from rank 0",
                fixes=[zero],
            )
        elif context.facts.rank_tests.is_rank(root):
            yield RESTRICTION.at(
                context,
                root,
                "each rank takes another one to be the one that sends, and the broadcast fails: send from rank 0",
                fixes=[zero],
            )


def _of_nothing(context: Context) -> Iterator[Violation]:
    """Broadcasts of the weights of a model that was made just before, and makes its weights when it is first called."""
    for call in context.facts.horovod.calls("broadcast_variables"):
        given = argument(call, "variables", 0)
        if (
            not isinstance(given, ast.Attribute)
            or not isinstance(given.value, ast.Name)
            or given.attr not in OF_MODEL
        ):
            continue
        bindings = context.scopes.reaching(given.value)
        made = [b.statement for b in bindings if isinstance(b.statement, ast.stmt)]
        if len(made) != 1 or len(bindings) != 1 or not makes_weights_late(context, given.value):
            continue
        if context.syntax.function(made[0]) is not context.syntax.function(call):
            continue
        if context.syntax.loops(call) != context.syntax.loops(made[0]) or is_used_between(
            context, given.value, made[0]
        ):
            continue
        yield RESTRICTION.at(
            context,
            call,
            f"`{context.text(given.value)}` has no weights before it is first called, so nothing is sent (Keras 2 may raise an "
            "error instead): broadcast them after the first step",
            related=[context.related(given.value, "made, but never called before this")],
        )


RESTRICTION = Restriction(
    "HVD306",
    "not-broadcast",
    "all ranks must start with the same weights",
    Severity.WARNING,
    __doc__ or "",
    find,
)
