"""HVD331 waits-forever: ranks must come to the same collectives in the same order.

## What it protects
A collective is done when all ranks are in it. If one takes a decision for itself (by its own loss, its own draw, its number),
leaves a loop sooner or goes another way, the others wait for it forever: after 60 seconds Horovod warns of a stall, and the
job hangs until it is ended.

## When it is reported
On a collective in which a rank waits, after two and three ranks were led through the script in every way that they may go:
tests of the rank are computed, tests that each rank answers for itself (random numbers, the clock, what it computes from its
own rows, the loss whose gradients are averaged, gradients before they are) are free on each rank, all others are taken alike.
Whether a file is there is free where one arm has a collective, or leaves out a training (`continue`): ranks may be on hosts
with other files; and where each turn of a loop asks for one file and leaves the loop by it, which may come between the turns
of two ranks. A step of training in a `try` of a loop may fail on one rank, where the handler takes that and goes on; a queue
may be empty for one (`batches.get(timeout=5)`). Collectives for the elements of a set of texts or objects come in another
order on each rank. Also on a `request_stop()` of a session's hook under such a test, on the hooks by which TensorFlow's
Estimators stop early (`tf.estimator.experimental.stop_if_no_decrease_hook`), and on a hook that only some ranks get and with
which they fetch what all exchange. Loops turn twice, or three times if they change weights and send them, a way has at most
400 steps, 120 ways are tried. The places that belong to the finding are the shortest way there, rank by rank. What one test of
the rank alone leaves to some ranks is HVD313.

## Quick fix
None: who decides, and how the others learn of it, is the script's to say. Usually: average before the test
(`loss = hvd.allreduce(loss)`), or send rank 0's decision (`hvd.broadcast_object(stop, root_rank=0)`).

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]
for step in range(100):
    loss = tf.reduce_mean(rows)
    if float(loss) < 0.1:
        break
    total = hvd.allreduce(loss)  # HVD331
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for step in range(10 - hvd.rank()):
    hvd.allreduce(tf.ones(3))  # HVD331
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
a = tf.ones(3)
if hvd.rank() == 0:
    hvd.broadcast(a, 0)  # HVD331
    hvd.allreduce(a)
else:
    hvd.allreduce(a)
    hvd.broadcast(a, 0)
```

```python
import timeit
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
begun = timeit.default_timer()
for step in range(100):
    seconds = timeit.timeit(prepare, number=1)
    hvd.allreduce(tf.ones(3))  # HVD331
    if seconds > 60:
        break
```

```python
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in tf.data.Dataset.from_tensor_slices(rows).shard(hvd.size(), hvd.rank()).repeat().batch(10).take(100):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    if np.isnan(loss):
        continue
    tape = hvd.DistributedGradientTape(tape)  # HVD331
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd
from reading import Reader, network

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(network(x))
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size())).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for rows in Reader("rows"):
        _, value = session.run([train, loss], {x: rows})  # HVD331
        if value < 0.01:
            break
```

```python
import os
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
step = tf.Variable(0)
if os.path.exists("checkpoints/step.txt"):
    step.assign(int(open("checkpoints/step.txt").read()))
    hvd.broadcast_variables([step], root_rank=0)  # HVD331
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)  # HVD331
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for x in batches:
    try:
        step(x)
    except tf.errors.ResourceExhaustedError:
        continue
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for name in {"loss", "accuracy"}:
    print(name, hvd.allreduce(results[name]))  # HVD331
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
for fold in range(5):
    if os.path.exists(f"{fold}.h5"):
        continue
    model = network()
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD331
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for name in sorted({"loss", "accuracy"}):
    print(name, hvd.allreduce(results[name]))
for number in {1, 2}:
    print(number, hvd.allreduce(results[number]))
```

```python
import os
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
step = tf.Variable(0)
if os.path.exists("checkpoints/step.txt"):
    step.assign(int(open("checkpoints/step.txt").read()))
hvd.broadcast_variables([step], root_rank=0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]
for step in range(100):
    loss = hvd.allreduce(tf.reduce_mean(rows))
    if float(loss) < 0.1:
        break
```

```python
import random
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
random.seed(7)
if random.random() < 0.5:
    hvd.allreduce(tf.ones(3))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    hvd.broadcast_object(read(), root_rank=0)
else:
    hvd.broadcast_object(None, root_rank=0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for step in range(10 - hvd.rank()):
    hvd.allreduce(tf.ones(3))
hvd.join()
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()


def run(rows, mode):
    total = tf.reduce_sum(rows)
    return hvd.allreduce(total) if mode == "all" else total


run(mine, "all")
if hvd.rank() == 0:
    run(mine, "alone")
```

## Source
Horovod's guide on the stall inspector, and its issues 403, 600 and 1270; the orders of an execution are those of the seed on
TensorFlow's semantics, with ranks in place of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.interleaving import Trouble
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import on_some_ranks, touched_at_once
from horovodize.restrictions.horovod.orders_of_sets import collectives_by_sets
from horovodize.restrictions.horovod.stopping_hooks import stopping, waiting
from horovodize.restrictions.horovod.ways_of_ranks import as_related, troubles
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    for call, elements in collectives_by_sets(context):
        yield RESTRICTION.at(
            context,
            call,
            "a rank may wait here forever: a set gives its elements in another order on each rank; go through `sorted(…)`, or "
            "a list",
            related=[context.related(elements, "the order differs between ranks")],
        )
    for call, test in stopping(context):
        yield RESTRICTION.at(
            context,
            call,
            "this ends the training of one rank alone, and the others wait for it in their next step; let all ranks decide "
            "alike, by what they have exchanged",
            related=[context.related(test, "each rank answers this for itself")],
        )
    for hook, fetched, by in waiting(context):
        yield RESTRICTION.at(
            context,
            hook,
            "a rank may wait here forever: only some ranks get this hook, and with it fetch what all must exchange; give it to "
            "all, and let one print or write",
            related=[
                context.related(fetched, "exchanged here"),
                context.related(by.test, "ranks differ here"),
            ],
        )
    stalls = troubles(context, Trouble.STALL)
    if not stalls:
        return
    # Whose decision that is, a test of the rank or a file that another rank writes meanwhile, is said there.
    said = (*on_some_ranks.find(context), *touched_at_once.find(context))
    told = {r.span for v in said for r in v.related}
    for stall in stalls:
        related = as_related(context, stall)
        if any(t.start <= r.span.start and r.span.end <= t.end for t in told for r in related):
            continue
        other = f": {stall.detail}" if stall.detail else ", and another rank in another one"
        yield RESTRICTION.at(
            context,
            stall.where,
            f"a rank may wait here forever{other}; let all ranks decide alike, by what they have exchanged",
            related=related,
        )


RESTRICTION = Restriction(
    "HVD331",
    "waits-forever",
    "ranks must come to the same collectives in the same order",
    Severity.WARNING,
    __doc__ or "",
    find,
)
