"""HVD303 gpus-not-pinned: each process should take one GPU.

## What it protects
TensorFlow takes all memory of all GPUs that it sees. The processes of one machine then stand in each other's way, and the
second one runs out of memory. Without GPUs nothing is wrong.

## When it is reported
On `init()` of a script that trains, shows all of itself, and never says which GPU a process may see. On a choice of the same
GPU for all processes (`gpus[0]`), where nothing else in the script tells them apart.

## Quick fix
Give each process the GPU of its local rank, after `init()`; not in a TensorFlow 1 graph.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()  # HVD303
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[0], "GPU")  # HVD303
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Near misses
```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
os.environ["CUDA_VISIBLE_DEVICES"] = str(hvd.local_rank())
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[0], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
```

## Source
Horovod's guide for TensorFlow, step 2; Horovod's issues 676 and 35.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.gpu_by_rank import choices
from horovodize.restrictions.horovod.mending import horovod, stands_alone
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_OF_PROCESSES = ("VISIBLE_DEVICES", "LOCAL_RANK", "local_rank", "SLURM", "OMPI_")
_SAID = ("visible_device", "VISIBLE_DEVICES", "local_rank", "LOCAL_RANK", "set_memory_growth", "allow_growth")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    yield from _of_the_first(context)
    if not context.loops or not use.is_whole or any(said in context.document.text for said in _SAID):
        return
    for start in use.starts:
        if use.runs(start):
            yield RESTRICTION.at(
                context,
                start,
                "every process of a machine takes all of its GPUs: let each see one, `local_rank()` says which",
                fixes=[_fix(context, start)],
            )
            return


def _of_the_first(context: Context) -> Iterator[Violation]:
    """Where every process is given the same GPU: `set_visible_devices(gpus[0], "GPU")`. Not where a variable of the environment
    may show each one its own, nor where a test around may ask for the rank or the number of ranks."""
    use, tests = context.facts.horovod, context.facts.rank_tests
    if not context.loops or not use.starts or any(said in context.document.text for said in _OF_PROCESSES):
        return
    for chosen in choices(context):
        if not _is_first(context, chosen) or not use.on_ranks(chosen) or tests.may_be_guarded(chosen):
            continue
        if any(
            use.depends_on(t.test, "size", "local_size", limit=60)
            for t, _ in context.syntax.conditions(chosen)
        ):
            continue
        yield RESTRICTION.at(
            context,
            chosen,
            "every process of a machine takes the same GPU, unless each is shown another one when it is started: choose by "
            "`local_rank()`",
        )
        return


def _is_first(context: Context, chosen: ast.expr) -> bool:
    """Whether one GPU is chosen by a number that is written: `gpus[0]`, `"0"`, `str(0)`."""
    match chosen:
        case ast.List(elts=[one]) | ast.Tuple(elts=[one]):
            return _is_first(context, one)
        case ast.Constant(value=str() as number):
            return number.isdecimal()
        case ast.Call(args=[ast.Constant(value=int())]):
            return context.is_builtin(chosen.func, "str")
        case ast.Subscript(value=gpus, slice=ast.Constant(value=int())):
            made = context.values.calls(gpus)
            listed = [context.names.last(call.func) == "list_physical_devices" for call in made]
            return bool(listed) and all(listed)
    return False


def _fix(context: Context, start: ast.expr) -> Fix | None:
    """The lines of Horovod's guide, after the statement that initialises it."""
    name, statement = horovod(context), context.syntax.statement(start)
    called = (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and statement.value.func is start
    )
    if name is None or not called or not stands_alone(context, statement) or context.sites.builds_graph:
        return None
    top = context.syntax.tree.body
    tensorflow = [b.name for b in context.scopes.imports if b.imported == "tensorflow" and b.statement in top]
    if not tensorflow:
        return None
    document, gpus, quote = context.document, context.fresh("gpus"), context.document.quote
    kind = f"{quote}GPU{quote}"
    lines = (
        f"{gpus} = {tensorflow[0]}.config.list_physical_devices({kind})",
        f"if {gpus}:",
        f"{document.indent_unit}{tensorflow[0]}.config.set_visible_devices({gpus}[{name}.local_rank()], {kind})",
    )
    before = document.newline + document.indentation(statement)
    return Fix(
        "Give each process a GPU of its own",
        (Edit.insert(context.module.span(statement).end, before + before.join(lines)),),
    )


RESTRICTION = Restriction(
    "HVD303",
    "gpus-not-pinned",
    "each process should take one GPU",
    Severity.INFORMATION,
    __doc__ or "",
    find,
)
