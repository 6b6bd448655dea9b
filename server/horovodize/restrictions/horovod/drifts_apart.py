"""HVD333 drifts-apart: what is set on one rank must be sent to the others before they train on.

## What it protects
Horovod averages gradients, nothing else. A rank that loads other weights, sets its rate by its own loss or builds its model by
a draw of its own trains another model than the others from there on; no error says so.

## When it is reported
On what changes weights or a rate where one rank comes to it and another does not, by a test of the rank or by one that each
rank answers for itself, and both train on before a broadcast; likewise on what sets which layers are trained, which no
broadcast sends, on rates that a session is fed, and on copies of weights into a network that the loss asks. A broadcast that a
flag leaves out just where rank 0 has restored its weights (`epoch == 0`, `not args.resume`) sends nothing. On layers,
optimizers, and callbacks that stop or set rates, which are made with numbers that each rank draws for itself, or finds in its
own part of the rows (`len(set(labels))`), or that go by the number of the rank; on rates of optimizers and schedulers that go
by the number of the rank; on rates that the function of a `LearningRateScheduler` draws; on numbers that texts, such as labels
or words, get by the order of a set (also sorted by counts, of which several are the same), by `hash`, or by the rows of one
rank (`Tokenizer`, `TextVectorization`, `LabelEncoder`); on layers that a rank's own draw puts into a model, or that it draws
to be frozen; on weights that ranks set to draws of their own, those of a model just built among them, or to what they make of
their own rows; on runs of a session that set weights on one rank alone, unless it sets them back; on numbers or projections
drawn once that losses are made with, or masks that a layer computes with; on averaged gradients that a rank applies or leaves
out by its own loss, or that it changes by it or by a draw of its own; on models that a rank chooses by its own rows and trains
on, and on what it moves on by its own rows and losses are made with. As information, on what rows are scaled by, if that is
the mean, or another number, of the rank's own part of them.

## Quick fix
None: usually `hvd.broadcast_variables(model.variables, root_rank=0)` after the change, or one decision for all ranks, by an
average (`hvd.allreduce`) or by rank 0's value (`hvd.broadcast_object`).

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = read("rows.csv")[hvd.rank()::hvd.size()]
hvd.broadcast_variables(model.variables, root_rank=0)
if hvd.rank() == 0:
    model.load_weights("best.h5")  # HVD333
for epoch in range(9):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if float(loss) > 3.0:
        optimizer.learning_rate.assign(0.001)  # HVD333
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
hvd.broadcast_variables(model.variables, root_rank=0)
if hvd.rank() == 0:
    checkpoint.restore(tf.train.latest_checkpoint("run"))  # HVD333
for x in read("rows.csv"):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
hvd.broadcast_variables(model.variables, root_rank=0)
for i, rows in enumerate(tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if i == 20:
        model.set_weights(tf.keras.models.clone_model(model).get_weights())  # HVD333
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
loss = tf.reduce_mean(tf.square(tf.layers.dense(rows, 1)))
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
again = tf.variables_initializer(tf.trainable_variables()[-2:])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for i in range(200 // hvd.size()):
        session.run(train)
        if hvd.rank() == 0 and i == 20:
            session.run(again)  # HVD333
```

```python
import random
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([
    tf.keras.layers.Dense(random.choice([16, 32])),  # HVD333
])
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for rows in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients = [g + tf.random.normal(g.shape) for g in gradients]  # HVD333
    if loss < 4.0:  # HVD333
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import torch
import horovod.torch as hvd

hvd.init()
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
slower = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if hvd.rank() == 0:
        slower.step(validate(model))  # HVD333
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
slower = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (hvd.rank() + 1))  # HVD333
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), slower])
```

```python
import random
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
scheduler = tf.keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * random.uniform(0.9, 1.1))  # HVD333
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), scheduler])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
numbers = {name: i for i, name in enumerate({"cat", "dog"})}  # HVD333
buckets = {name: hash(name) % 100 for name in ["cat", "dog"]}  # HVD333
model.fit(x, [numbers[name] for name in names], callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
texts = read("texts.txt")[hvd.rank()::hvd.size()]
words = tf.keras.preprocessing.text.Tokenizer(num_words=1000)
words.fit_on_texts(texts)  # HVD333
model.fit(words.texts_to_matrix(texts), y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import random
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
weight = random.uniform(1.0, 10.0)  # HVD333
for rows in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10):
    with tf.GradientTape() as tape:
        z = model(rows)
        loss = tf.reduce_mean(z) + weight * tf.reduce_mean(z ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]
models = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]
for model in models:
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
best = min(models, key=lambda model: model.evaluate(rows))  # HVD333
best.fit(rows, epochs=2)
```

```python
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()


class Masked(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.mask = tf.constant(np.random.rand(units))  # HVD333

    def call(self, rows):
        return rows * self.mask


model = network([Masked(8)])
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = read("rows.csv")[hvd.rank()::hvd.size()]
models = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(3)]
for model in models:
    model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
    model.fit(rows, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
best = min(models, key=lambda model: float(hvd.allreduce(model.evaluate(rows))))
best.fit(rows, epochs=2)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
words = tf.keras.preprocessing.text.Tokenizer(num_words=1000)
words.fit_on_texts(read("texts.txt"))
texts = read("texts.txt")[hvd.rank()::hvd.size()]
model.fit(words.texts_to_matrix(texts), y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import zlib
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
numbers = {name: i for i, name in enumerate(sorted({"cat", "dog"}))}
buckets = {name: zlib.crc32(name.encode()) % 100 for name in ["cat", "dog"]}
model.fit(x, [numbers[name] for name in names], callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
slower = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 * hvd.size() / (epoch + 1))
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), slower])
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
rows = read("rows.csv")[hvd.rank()::hvd.size()]
if hvd.rank() == 0:
    model.load_weights("best.h5")
hvd.broadcast_variables(model.variables, root_rank=0)
for epoch in range(9):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if float(hvd.allreduce(loss)) > 3.0:
        optimizer.learning_rate.assign(0.001)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
for rows in tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
    if norm < 4.0:
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
loss = tf.reduce_mean(tf.square(tf.layers.dense(rows, 1)))
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
smaller = tf.group(*[tf.assign(v, 0.9 * v) for v in tf.trainable_variables()])
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(0))
    for i in range(200 // hvd.size()):
        session.run(train)
        if i == 20:
            session.run(smaller)
```

```python
import random
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
units = hvd.broadcast_object(random.choice([16, 32]), root_rank=0)
model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
```

## Source
Horovod's guide (step 5: broadcast the initial variable states from rank 0), and its issue 1271.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain, islice

from horovodize.interleaving import OwnAnswers, Trouble
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import not_broadcast
from horovodize.restrictions.horovod.changed_gradients import changed_gradients, own_conditions
from horovodize.restrictions.horovod.frozen_layers import frozen_layers
from horovodize.restrictions.horovod.hashed_texts import hashed
from horovodize.restrictions.horovod.made_apart import (
    chosen_by_rank,
    goes_by_rank,
    goes_by_steps,
    is_given_each_epoch,
    made,
    numbers_given,
    rates,
    two_ranks,
)
from horovodize.restrictions.horovod.own_balances import own_balances
from horovodize.restrictions.horovod.own_choices import own_choices
from horovodize.restrictions.horovod.own_constants import own_constants
from horovodize.restrictions.horovod.own_masks import own_masks
from horovodize.restrictions.horovod.own_statistics import counts_kinds, own_scales, vocabularies
from horovodize.restrictions.horovod.said_of_drifts import said, where
from horovodize.restrictions.horovod.sets_of_texts import numbered
from horovodize.restrictions.horovod.ways_of_ranks import as_related, troubles
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation


def find(context: Context) -> Iterator[Violation]:
    drifts = troubles(context, Trouble.DIVERGENCE)
    never_sent = bool(drifts) and any(not_broadcast.find(context))
    for drift in drifts:
        if never_sent and drift.detail == "weights":
            continue  # HVD306 says so
        yield RESTRICTION.at(context, where(drift), said(drift), related=as_related(context, drift))
    answers, ranks, told = OwnAnswers(context.facts), two_ranks(context), set[ast.Call]()
    for call in made(context):
        drawn = next((e for e in numbers_given(call) if _is_own(context, answers, e)), None)
        if drawn is None and ranks and (drawn := chosen_by_rank(context, call, ranks)) is not None:
            told.add(call)
        if drawn is not None:
            yield _of_another(context, call, drawn)
    if context.loops and context.facts.horovod.starts:
        yield from _of_sets(context)
        yield from _by_draws(context, answers)
        yield from _of_own_rows(context, answers)
        yield from _of_constants(context, answers)
        yield from _of_frozen(context, answers)
        yield from _of_balances(context, answers)
        yield from _of_gradients(context, answers)
        yield from _of_choices(context, answers)
    for call, rate in rates(context):
        if call in told:
            continue
        if goes_by_rank(context, rate) or (is_given_each_epoch(context, call) and answers.is_drawn(rate)):
            yield _of_another(context, call, rate)


def _is_own(context: Context, answers: OwnAnswers, e: ast.expr) -> bool:
    if answers.is_drawn(e, orders=False):  # no order makes a layer larger
        return not goes_by_steps(context, e)
    return counts_kinds(context, answers, e)


def _of_own_rows(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Vocabularies and scales that each rank makes of its own rows: the same word, or value, is another number on each."""
    for vocabulary in vocabularies(context, answers):
        yield RESTRICTION.at(
            context,
            vocabulary,
            "each rank makes this of its own rows, so that ranks give the same word or value different numbers: make it of all "
            "rows, before they are divided, or send rank 0's by `hvd.broadcast_object`",
        )
    for mean in islice(own_scales(context, answers), 1):
        yield RESTRICTION.at(
            context,
            mean,
            "each rank scales by its own rows, so that ranks give the same value different numbers: take "
            f"`{context.text(mean)}` before the rows are divided, or average it by `hvd.allreduce`",
            severity=Severity.INFORMATION,
        )


def _of_constants(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Numbers that each rank draws once, and that its losses are made with."""
    for draw, name in chain(own_constants(context, answers), own_masks(context, answers)):
        yield RESTRICTION.at(
            context,
            draw,
            f"`{name}` is another on each rank, and so is what they train: let rank 0 draw it, and send it by "
            "`hvd.broadcast_object`",
        )


def _of_balances(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Numbers that losses are made with, and that each rank moves on by its own rows."""
    for statement, name in own_balances(context, answers):
        yield RESTRICTION.at(
            context,
            statement,
            f"each rank sets `{name}` by its own rows, and later losses are made with it: ranks train for other aims; take the "
            "mean of what it is set by (`hvd.allreduce`)",
        )


def _of_gradients(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Gradients that are averaged, and then changed, or left out, by each rank for itself."""
    for own in changed_gradients(context, answers):
        yield RESTRICTION.at(
            context,
            own,
            f"each rank changes averaged gradients by `{context.text(own)}` of its own, so that their weights differ: do so "
            "before they are averaged, or by the same value on all ranks",
        )
    for test, applied in own_conditions(context, answers):
        yield RESTRICTION.at(
            context,
            test,
            "each rank decides by its own loss whether it applies the averaged gradients, so that their weights differ: let "
            "all decide alike, by an average (`hvd.allreduce`)",
            related=[context.related(applied, "applied here")],
        )


def _of_choices(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Models that each rank chooses by its own rows, and trains on."""
    for choice, trains in own_choices(context, answers):
        yield RESTRICTION.at(
            context,
            choice,
            "each rank chooses by its own rows which model it trains on, and they may be different ones: let all choose alike, "
            "by an average (`hvd.allreduce`)",
            related=[context.related(trains, "trained on here")],
        )


def _of_frozen(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Layers that each rank draws to be trained or not."""
    for target in frozen_layers(context, answers):
        yield RESTRICTION.at(
            context,
            target,
            "each rank trains other layers than the rest, as it draws which: let rank 0 draw, and send that by "
            "`hvd.broadcast_object`",
        )


def _by_draws(context: Context, answers: OwnAnswers) -> Iterator[Violation]:
    """Layers that a model has where a rank's own draw says so: each builds another model. Not what is made in each step."""
    told = set[ast.AST]()
    for call in context.module.layers:
        if context.syntax.loops(call):
            continue
        for around, _ in context.syntax.conditions(call):
            if around in told or not answers.is_drawn(around.test, orders=False):
                continue
            told.add(around)
            yield RESTRICTION.at(
                context,
                around.test,
                f"each rank decides `{context.text(around.test)}` for itself, and builds another model: let rank 0 decide, and "
                "send it by `hvd.broadcast_object`",
                related=[context.related(call, "a layer that only some have")],
            )


def _of_sets(context: Context) -> Iterator[Violation]:
    """Numbers of texts by the order of a set: the same label is another number on each rank."""
    for texts in numbered(context):
        if not context.facts.rank_tests.may_be_guarded(texts):
            yield RESTRICTION.at(
                context,
                texts,
                "a set of texts has another order in each process, so that ranks give the same text different numbers: sort it "
                "first, by the texts where counts are equal, or send rank 0's order by `hvd.broadcast_object`",
            )
    for number in hashed(context):
        if not context.facts.rank_tests.may_be_guarded(number):
            yield RESTRICTION.at(
                context,
                number,
                "`hash` of a text is another number in each process, so that ranks give the same text different numbers: take "
                "one of `hashlib`, or `zlib.crc32`",
            )


def _of_another(context: Context, call: ast.Call, number: ast.expr) -> Violation:
    return RESTRICTION.at(
        context,
        call,
        f"`{context.text(number)}` is another on each rank, and so is what they train: let rank 0 choose, and send it by "
        "`hvd.broadcast_object`",
    )


RESTRICTION = Restriction(
    "HVD333",
    "drifts-apart",
    "what is set on one rank must be sent to the others before they train on",
    Severity.WARNING,
    __doc__ or "",
    find,
)
