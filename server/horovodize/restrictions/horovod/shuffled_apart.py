"""HVD319 shuffled-apart: ranks must divide the same order of rows.

## What it protects
`shard` takes every size()-th element. Where each rank has shuffled in an order of its own before, what one takes another may
have taken too: in each epoch about a third of the rows is not trained on, and others are trained on twice.

## When it is reported
On `shard` by size() and rank() after `shuffle`, or after `Dataset.list_files` that shuffles, or of names that were shuffled
before, without a seed, where the script doesn't seed TensorFlow; on a rank's part (`rows[hvd.rank()::hvd.size()]`,
`rows[hvd.rank() * n:(hvd.rank() + 1) * n]`, `np.array_split(rows, hvd.size())[hvd.rank()]`) of what was shuffled, permuted or
split by NumPy, `random` or scikit-learn without a seed, or by one with the rank in it, or of a set of texts; a generator
without a seed (`np.random.default_rng()`, `random.Random()`) counts whatever else is seeded, and so do `KFold(shuffle=True)`
and `ShuffleSplit` without a `random_state`, unless NumPy is seeded. As information, on a part of what `os.listdir` or `glob`
lists and nothing sorts, since hosts may list it in another order, and on a split into rows to train on and rows to validate
on that each rank draws. Not on what a `fit` validates on for some steps, and that repeats without end: a sample may be in any
order.

## Quick fix
Give the shuffle a seed.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shuffle(1000)
rows = rows.shard(hvd.size(), hvd.rank())  # HVD319
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
files = tf.data.Dataset.list_files("*.tfrecord")
files = files.shard(hvd.size(), hvd.rank())  # HVD319
```

```python
import numpy as np
import horovod.tensorflow as hvd

hvd.init()
order = np.random.permutation(1000)
mine = order[hvd.rank()::hvd.size()]  # HVD319
rows = rows[np.random.permutation(len(rows))]
rows = rows[hvd.rank()::hvd.size()]  # HVD319
```

```python
import numpy as np
import horovod.tensorflow as hvd
from sklearn.model_selection import KFold

hvd.init()
mine = rows[np.random.default_rng().permutation(len(rows))][hvd.rank()::hvd.size()]  # HVD319
for train, valid in KFold(5, shuffle=True).split(rows):
    mine = train[hvd.rank()::hvd.size()]  # HVD319
```

```python
import glob
import random
import horovod.tensorflow as hvd

hvd.init()
files = sorted(glob.glob("*.tfrecord"))
random.shuffle(files)
mine = files[hvd.rank()::hvd.size()]  # HVD319
```

```python
import numpy as np
import horovod.tensorflow as hvd

hvd.init()
order = np.random.permutation(1000)
n = len(order) // hvd.size()
rows = rows[order]
mine = rows[hvd.rank() * n:(hvd.rank() + 1) * n]  # HVD319
mine = np.array_split(order, hvd.size())[hvd.rank()]  # HVD319
```
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10).repeat()
held = tf.data.Dataset.range(100).shuffle(100).batch(10).shard(hvd.size(), hvd.rank())  # HVD319
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=100 // hvd.size(), validation_data=held, validation_steps=5, callbacks=callbacks)
```

## Near misses
```python
import numpy as np
import horovod.tensorflow as hvd
from sklearn.model_selection import KFold

hvd.init()
mine = rows[np.random.default_rng(7).permutation(len(rows))][hvd.rank()::hvd.size()]
for train, valid in KFold(5, shuffle=True, random_state=7).split(rows):
    mine = train[hvd.rank()::hvd.size()]
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).batch(10).repeat()
held = tf.data.Dataset.range(100).shuffle(100).batch(10).repeat().shard(hvd.size(), hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(rows, steps_per_epoch=100 // hvd.size(), validation_data=held, validation_steps=5, callbacks=callbacks)
```

```python
import numpy as np
import horovod.tensorflow as hvd

hvd.init()
np.random.seed(7)
order = np.random.permutation(1000)
mine = order[hvd.rank()::hvd.size()]
others = np.arange(1000)[hvd.rank()::hvd.size()]
np.random.shuffle(others)
```

```python
import numpy as np
import horovod.tensorflow as hvd

hvd.init()
n = len(rows) // hvd.size()
mine = rows[hvd.rank() * n:(hvd.rank() + 1) * n]
mine = mine[np.random.permutation(n)]
batch = np.random.permutation(n)[:32]
order = np.random.permutation(n)
for start in range(0, n, 32):
    part = order[start + 8 * hvd.rank():start + 8 * (hvd.rank() + 1)]
ours = np.array_split(np.random.RandomState(7).permutation(1000), hvd.size())[hvd.rank()]
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.range(1000).shard(hvd.size(), hvd.rank()).shuffle(1000)
same = tf.data.Dataset.range(1000).shuffle(1000, seed=7).shard(hvd.size(), hvd.rank())
files = tf.data.Dataset.list_files("*.tfrecord", shuffle=False).shard(hvd.size(), hvd.rank())
```

## Source
TensorFlow's documentation of `Dataset.shard`; Horovod's issues 223 and 2623.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.parts_taken import part_taken
from horovodize.python.syntax import argument, arguments, has_unpacking
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.drawn_orders import drawn_order, listed_order, seeds_by_rank
from horovodize.restrictions.horovod.own_splits import splits_of_own
from horovodize.restrictions.horovod.sets_of_texts import is_unordered
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.pipeline_counts import is_endless_after

_SEEDS = ("set_seed", "set_random_seed", "set_global_seed", "set_global_seeds")
_OF_A_SET = (
    "a set of texts has another order in each process, so some rows are taken twice and others by none: sort it before it is "
    "divided"
)
_SLICES = "from_tensor_slices"
_DEPTH = 30


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    yield from _sliced(context)
    yield from _split_apart(context)
    named = [n for name in _SEEDS for n in context.module.loads.get(name)]
    seeding = [context.syntax.parent.get(n) for n in named]
    if not all(isinstance(c, ast.Call) and seeds_by_rank(context, c) for c in seeding):
        return
    for call in context.sites.method_calls("shard"):
        number, index = argument(call, "num_shards", 0), argument(call, "index", 1)
        if number is None or index is None or not use.depends_on(index, "rank", limit=60):
            continue
        if context.facts.never_run.is_at(call):
            continue
        if _is_made_of_a_set(context, call):
            yield RESTRICTION.at(context, call, _OF_A_SET)
            continue
        shuffled = _shuffled_before(context, call)
        if shuffled is not None and not _is_sample_to_validate(context, call):
            yield RESTRICTION.at(
                context,
                call,
                "ranks divide orders of their own, so some rows are taken twice and others by none: divide before "
                "shuffling, or give the shuffle a seed",
                related=[context.related(shuffled, "each rank shuffles in its own order")],
                fixes=[_fix(context, shuffled) if _shuffles(context, shuffled) else None],
            )


def _is_made_of_a_set(context: Context, shard: ast.Call) -> bool:
    """Whether a pipeline goes through a set of texts before it is divided."""
    assert isinstance(shard.func, ast.Attribute)
    made = context.values.calls(shard.func.value)
    return (
        len(made) == 1
        and context.names.last(made[0].func) == _SLICES
        and bool(made[0].args)
        and is_unordered(context, made[0].args[0])
    )


def _fix(context: Context, shuffle: ast.Call) -> Fix | None:
    """A seed: then all ranks shuffle alike."""
    given = arguments(shuffle)
    if not given or has_unpacking(shuffle):
        return None
    last = max(context.module.span(e).end for e in given)
    return Fix("Give the shuffle a seed", (Edit.insert(last, ", seed=0"),))


def _sliced(context: Context) -> Iterator[Violation]:
    """Slices that each rank takes of an order of its own."""
    for node in context.syntax.every(ast.Subscript):
        if not (
            _is_stride(context, node) or _is_block(context, node)
        ) or context.facts.rank_tests.may_be_guarded(node):
            continue
        rows = _parts(context, node) or node.value
        if is_unordered(context, rows):
            yield RESTRICTION.at(context, node, _OF_A_SET)
            continue
        shuffled = drawn_order(context, rows)
        if shuffled is None and (listing := listed_order(context, rows)) is not None:
            yield RESTRICTION.at(
                context,
                node,
                "the file system says in which order this comes, and another host may say another one, so that some rows are "
                "taken twice and others by none: sort it before it is divided",
                severity=Severity.INFORMATION,
                related=[context.related(listing, "listed in any order")],
            )
        if shuffled is not None:
            yield RESTRICTION.at(
                context,
                node,
                "ranks divide orders of their own, so some rows are taken twice and others by none: seed what shuffles, alike "
                "on every rank, or divide before",
                related=[context.related(shuffled, "each rank shuffles in its own order")],
            )


def _split_apart(context: Context) -> Iterator[Violation]:
    """Rows to validate on that each rank draws for itself: others train on them."""
    use, tests = context.facts.horovod, context.facts.rank_tests
    if not context.loops or not use.calls(*WRAPPERS, *TAPES):
        return
    for split, draw in splits_of_own(context):
        if use.runs(split) and not tests.may_be_guarded(split) and not context.facts.never_run.is_at(split):
            yield RESTRICTION.at(
                context,
                split,
                "each rank splits off other rows to validate on, and the others train on them: give all the same seed",
                severity=Severity.INFORMATION,
                related=[context.related(draw, "each rank draws its own")] if draw is not split else [],
            )


def _is_stride(context: Context, node: ast.Subscript) -> bool:
    """`rows[hvd.rank()::hvd.size()]`."""
    use, at = context.facts.horovod, part_taken(context.module, node.slice)
    if at is None or at.lower is None or at.step is None or not isinstance(node.ctx, ast.Load):
        return False
    return context.facts.rank_tests.is_rank(at.lower) and use.depends_on(at.step, "size", limit=60)


def _is_block(context: Context, node: ast.Subscript) -> bool:
    """`rows[hvd.rank() * n : (hvd.rank() + 1) * n]`, or `np.array_split(rows, hvd.size())[hvd.rank()]`."""
    use, at = context.facts.horovod, node.slice
    if not isinstance(node.ctx, ast.Load):
        return False
    part = part_taken(context.module, at)
    if part is not None:
        if context.syntax.loops(node):
            return False  # rows of one batch, drawn by each rank
        is_rank = context.facts.rank_tests.is_rank
        return all(
            e is not None and (is_rank(e) or use.depends_on(e, "rank", limit=60))
            for e in (part.lower, part.upper)
        )
    # Of several axes, one is that of the ranks: `blocks[:, hvd.rank()]`.
    chosen = [e for e in at.elts if not isinstance(e, ast.Slice)] if isinstance(at, ast.Tuple) else [at]
    by_rank = len(chosen) == 1 and context.facts.rank_tests.is_rank(chosen[0])
    return by_rank and _parts(context, node) is not None


def _parts(context: Context, node: ast.Subscript) -> ast.expr | None:
    """What NumPy divides into a part for each rank, of which one is taken."""
    made = context.values.calls(node.value)
    if len(made) != 1:
        return None
    if context.names.last(made[0].func) == "reshape" and isinstance(made[0].func, ast.Attribute):
        of_numpy = context.names.of(made[0].func) == "numpy.reshape"
        rows, *shape = arguments(made[0]) if of_numpy else [made[0].func.value, *arguments(made[0])]
        return rows if any(context.facts.horovod.depends_on(e, "size", limit=60) for e in shape) else None
    if context.names.of(made[0].func) not in ("numpy.array_split", "numpy.split"):
        return None
    parts = argument(made[0], "indices_or_sections", 1)
    by_size = parts is not None and context.facts.horovod.depends_on(parts, "size", limit=60)
    return argument(made[0], "ary", 0) if by_size else None


def _shuffled_before(context: Context, shard: ast.Call) -> ast.Call | None:
    """What shuffles without a seed before a pipeline is divided, the pipeline or the rows it is made of: on its only way, or on
    one of several that the number of ranks doesn't decide (`if training: rows = rows.shuffle(n)`)."""
    todo, seen = [shard], set[ast.Call]()
    while todo and len(seen) < _DEPTH:
        call = todo.pop()
        if call in seen or not isinstance(call.func, ast.Attribute):
            continue
        seen.add(call)
        if call is not shard and _shuffles(context, call):
            if context.facts.never_run.is_at(call) or any(
                context.facts.rank_tests.asks_for_several(t.test) for t, _ in context.syntax.conditions(call)
            ):
                continue
            return call
        if context.names.last(call.func) == _SLICES and call.args:
            given = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else call.args[:1]
            drawn = (drawn_order(context, rows) for rows in given)
            if (found := next((d for d in drawn if isinstance(d, ast.Call)), None)) is not None:
                return found
            continue
        todo += [o.call for o in context.values.origins(call.func.value) if o.call is not None]
    return None


def _is_sample_to_validate(context: Context, shard: ast.Call) -> bool:
    """Whether a `fit` validates by some steps on what is repeated without end: that is a sample in any order, and nothing is
    learned of the rows that are taken twice."""
    pipelines = context.facts.feeding.kinds.pipelines
    for fit in context.sites.fits:
        data, steps = argument(fit.call, "validation_data"), argument(fit.call, "validation_steps")
        if steps is None or data is None or shard is not data and shard not in context.values.calls(data):
            continue
        return isinstance(shard.func, ast.Attribute) and is_endless_after(pipelines, shard, shard.func.value)
    return False


def _shuffles(context: Context, call: ast.Call) -> bool:
    name = context.names.last(call.func)
    if name == "shuffle":
        return argument(call, "seed", 1) is None
    if name == "list_files":
        asked = argument(call, "shuffle", 1)
        never = isinstance(asked, ast.Constant) and asked.value is False
        unsure = asked is not None and not (isinstance(asked, ast.Constant) and asked.value is True)
        return argument(call, "seed", 2) is None and not never and not unsure
    return False


RESTRICTION = Restriction(
    "HVD319",
    "shuffled-apart",
    "ranks must divide the same order of rows",
    Severity.WARNING,
    __doc__ or "",
    find,
)
