"""HVD320 same-batches: ranks must train on rows of their own.

## What it protects
Where every rank goes through the same rows in the same order, all compute the same gradients, and their average is what one of
them has computed: N ranks train as far as one, with its batch, and at N times its rate where that was scaled.

## When it is reported
On data of TensorFlow or NumPy that a `fit` or a loop around a tape takes undivided, where nothing shuffles them, or a seed
that is the same on all ranks fixes how (NumPy's, in the sessions of TensorFlow 1); on pictures that Keras'
`flow_from_directory` or `flow` gives a `fit` by such a seed, or unshuffled; and on arrays that a loop feeds a session or a
step with, where all that chooses them is the same on all ranks and the script needs its rank for nothing but tests, texts and
GPUs. On what the sessions of a graph take of the only data set that trains, and the input functions of Estimators, in the same
way. On a `fit` to a generator of the script's own that draws by a seed for all ranks, and an Estimator's arrays that aren't
shuffled. On shares of size() that go by `local_rank()`, too: ranks of several hosts take the same one; and on
`shard(hvd.size(), 0)`. As information, where such a loop's rate isn't scaled: each rank trains as one process would. Not where
the data depend on the rank, are drawn, or come from anything that can't be followed.

In a script of `horovod.torch`, on a `DataLoader` without a sampler, of a data set of torchvision or of tensors, that a loop
with steps of a wrapped optimizer goes through in order, or in the order that one seed for all ranks fixes.

## Quick fix
`rank()` for `local_rank()`. None otherwise.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.random.set_seed(1)
rows = tf.data.Dataset.range(1000).shuffle(1000).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])  # HVD320
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in tf.data.Dataset.range(1000).batch(10):  # HVD320
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd


class Data:
    def __init__(self):
        (x, y), _ = tf.keras.datasets.mnist.load_data()
        self.rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)


hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x, y in Data().rows.take(100):  # HVD320
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd


class Data:
    def __init__(self):
        (self.x, self.y), _ = tf.keras.datasets.mnist.load_data()

    @property
    def rows(self):
        return tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(32)


hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
data = Data()
for x, y in data.rows:  # HVD320
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

def batches(rows, size):
    np.random.seed(7)
    while True:
        for start in range(0, len(rows) - size, size):
            yield rows[np.random.permutation(len(rows))[start:start + size]]

hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size())).minimize(loss)
given = batches(np.load("rows.npy"), 32)
with tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
    for step in range(1000 // hvd.size()):
        session.run(train, {x: next(given)})  # HVD320
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.local_rank()).shuffle(1000).batch(10)  # HVD320
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
pictures = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255)
given = pictures.flow_from_directory("train", batch_size=32, seed=2022)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(given, steps_per_epoch=len(given) // hvd.size(), callbacks=callbacks)  # HVD320
```

```python
import torch
import horovod.torch as hvd
from torchvision import datasets

hvd.init()
torch.manual_seed(7)
rows = datasets.FakeData(1000)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
loader = torch.utils.data.DataLoader(rows, batch_size=32, shuffle=True)  # HVD320
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
mine = hvd.rank()
rows = tf.data.Dataset.list_files("/local/*.tfrecord").shard(hvd.local_size(), hvd.local_rank())
others = rows_of_all.shard(hvd.size(), mine)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows.repeat(), steps_per_epoch=9, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import numpy as np
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

def batches(rows, size):
    while True:
        yield rows[np.random.permutation(len(rows))[:size]]

hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size())).minimize(loss)
given = batches(np.load("rows.npy"), 32)
with tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
    for step in range(1000 // hvd.size()):
        session.run(train, {x: next(given)})
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
pictures = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255)
given = pictures.flow_from_directory("train", batch_size=32, seed=2022 + hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(given, steps_per_epoch=len(given) // hvd.size(), callbacks=callbacks)
```

```python
import torch
import horovod.torch as hvd
from torchvision import datasets

hvd.init()
torch.manual_seed(7)
rows = datasets.FakeData(1000)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
sampler = torch.utils.data.distributed.DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
loader = torch.utils.data.DataLoader(rows, batch_size=32, sampler=sampler)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd


class Data:
    def __init__(self):
        (self.x, self.y), _ = tf.keras.datasets.mnist.load_data()

    @property
    def rows(self):
        rows = tf.data.Dataset.from_tensor_slices((self.x, self.y))
        return rows.shard(hvd.size(), hvd.rank()).batch(32)


hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
data = Data()
for x, y in data.rows:
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd


class Data:
    def __init__(self, rank):
        (x, y), _ = tf.keras.datasets.mnist.load_data()
        self.rows = tf.data.Dataset.from_tensor_slices((x, y)).shard(hvd.size(), rank).batch(32)


hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x, y in Data(hvd.rank()).rows.take(100):
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
tf.random.set_seed(1 + hvd.rank())
rows = tf.data.Dataset.range(1000).shuffle(1000).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Source
Horovod's issues 223 and 1252.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.feeds.steps import Feed
from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import torch_training
from horovodize.restrictions.horovod.alike_data import (
    gone_through,
    is_false,
    is_same,
    is_seeded,
    is_seeded_by_numpy,
    is_seeded_shuffle,
    made_of,
    shuffles,
)
from horovodize.restrictions.horovod.rows_of_graphs import (
    asked_of,
    fed_to_graphs,
    is_mixed_in_place,
)
from horovodize.restrictions.horovod.same_rows import of_arrays, of_hosts, of_shares
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_LIMIT = 300


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if use.of_torch:
        yield from torch_training.same_batches(context, RESTRICTION)
        return
    if not use.calls(*WRAPPERS, *TAPES) and not any(c.trains for c in context.facts.collectives.all.values()):
        return
    for site, data, by_fit in _fed(context):
        if not use.runs(site) or context.facts.rank_tests.may_be_guarded(site):
            continue
        nodes = list(made_of(context, data))
        if len(nodes) >= _LIMIT or not all(is_same(context, node) for node in nodes):
            continue
        if is_mixed_in_place(context, nodes):
            continue
        seeded = is_seeded(context)
        if not all(is_seeded_shuffle(call, seeded) for call in shuffles(context, nodes)):
            continue
        is_dataset = context.facts.feeding.kinds.pipelines.is_dataset(data)
        in_order = seeded or is_seeded_by_numpy(context) or is_false(argument(site, "shuffle"))
        if not is_dataset and not (by_fit and in_order):
            continue
        yield RESTRICTION.at(
            context,
            site if by_fit else data,
            f"every rank takes the same rows of `{context.text(data)}` in the same order, and all compute the same gradients: "
            "divide them, by `shard(hvd.size(), hvd.rank())` before they are shuffled and batched",
        )
    yield from of_arrays(context, RESTRICTION)
    yield from of_hosts(context, RESTRICTION)
    yield from of_shares(context, RESTRICTION)


def _fed(context: Context) -> Iterator[tuple[ast.Call, ast.expr, bool]]:
    """What trains on batches, the data that it takes, and whether it is a `fit`."""
    for fit in context.sites.fits:
        data = argument(fit.call, "x", 0)
        if data is not None and fit.method == "fit" and context.facts.steps.of(fit.call).feed is Feed.BATCH:
            yield fit.call, data, True
    for update in context.sites.updates:
        if update.step_of is None:
            ways = context.ways(update.call)
            loop = next((f.loops[0] for f in ways[0] if f.loops), None) if len(ways) == 1 else None
            data = gone_through(context, loop.iter) if isinstance(loop, ast.For) else None
            if (
                isinstance(loop, ast.For)
                and context.names.last(getattr(loop.iter, "func", loop.iter)) == "range"
            ):
                asked = [d for e in context.facts.steps.of(update.call).batches for d in asked_of(context, e)]
                data = asked[0] if len(asked) == 1 else None
            if data is not None and context.facts.feeding.kinds.pipelines.is_dataset(data):
                yield update.call, data, False
    for call, data in fed_to_graphs(context):
        yield call, data, False


RESTRICTION = Restriction(
    "HVD320",
    "same-batches",
    "ranks must train on rows of their own",
    Severity.WARNING,
    __doc__ or "",
    find,
)
