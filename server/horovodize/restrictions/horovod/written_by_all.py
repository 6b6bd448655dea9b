"""HVD314 written-by-all: a file must be written by one rank.

## What it protects
Ranks that write the same checkpoint at the same time leave one that can't be read, or a mixture. On several machines with a
folder in common it is the same.

## When it is reported
On `save`, `save_weights` and the like of models, savers, checkpoints and their managers, on files that are opened for writing,
arrays, tables, pictures and texts that are saved (`np.save`, `to_csv`, `savefig`, `write_text`), files of messages that are
begun again (`filemode="w"`), commands that change a database of `sqlite3`, on `ModelCheckpoint`, `CSVLogger` and
`BackupAndRestore` in the callbacks of a `fit`, and on the folder that a `MonitoredTrainingSession` or an `Estimator` writes to
(its own, or its `RunConfig`'s, unless that lets rank 0 alone save), where every rank runs them with the same path. Also on a
`CheckpointSaverHook` that all give to their session. As information, on `TensorBoard`, summary writers and `SummarySaverHook`:
each process has an event file of its own, and TensorBoard shows them as one mixed run. Not under anything that may be a test
of the rank (a decorator may be one), nor with a path that can't be followed, that is temporary or that lines are only appended
to.

## Quick fix
Put `if hvd.rank() == 0:` before a call that is a statement, and before the `append` of a callback; in a list of callbacks,
`*([…] if hvd.rank() == 0 else [])`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
callbacks = [tf.keras.callbacks.ModelCheckpoint("best.h5")]  # HVD314
callbacks.append(tf.keras.callbacks.CSVLogger("losses.csv"))  # HVD314
model.fit(x, y, callbacks=callbacks)
model.save("model.h5")  # HVD314
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
checkpoint = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=3)
train(model)
manager.save()  # HVD314
```

```python
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
history = model.fit(x, y, callbacks=[tf.keras.callbacks.TensorBoard("logs")])  # HVD314
np.save("weights.npy", model.get_weights()[0])  # HVD314
with open("losses.txt", "w") as file:  # HVD314
    file.write(str(history.history["loss"]))
```

```python
import os
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(x, y)
np.save(f"weights-of-{hvd.size()}.npy", model.get_weights()[0])  # HVD314
model.save(os.path.join(os.environ["OUTPUT"], "model.h5"))  # HVD314
model.save(os.path.join(os.getenv("OUTPUT", "."), "model.h5"))  # HVD314
```

## Near misses
```python
import sys
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if "--predict" in sys.argv:
    np.save("predicted.npy", model.predict(x))
else:
    model.fit(x, y)
```

```python
import functools
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def alone(function):
    @functools.wraps(function)
    def run(*given):
        return function(*given) if hvd.rank() == 0 else None
    return run

@alone
def keep(weights):
    np.save("weights.npy", weights)

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(x, y, callbacks=[tf.keras.callbacks.TensorBoard(f"logs/{hvd.rank()}")])
keep(model.get_weights()[0])
with open("losses.txt", "a") as file:
    file.write(f"rank {hvd.rank()} is done")
```

```python
import os
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
callbacks = []
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("best.h5"))
callbacks.append(tf.keras.callbacks.CSVLogger(f"losses-{hvd.rank()}.csv"))
model.fit(x, y, callbacks=callbacks)
model.save(f"model-{hvd.rank()}.h5")
if hvd.local_rank() == 0:
    model.save("model.h5")
model.save(os.path.join(os.environ["TMPDIR"], "model.h5"))
model.save(os.path.join(os.getenv("OUTPUT") if hvd.rank() == 0 else os.getenv("OTHER"), "model.h5"))
model.save(os.environ["OMPI_COMM_WORLD_RANK"] + ".h5")
model.save(os.environ[named()] + ".h5")
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if several:
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
else:
    callbacks = [tf.keras.callbacks.ModelCheckpoint("best.h5")]
model.fit(x, y, callbacks=callbacks)
if hvd.size() == 1:
    model.save("model.h5")
elif hvd.rank() == 0:
    model.save("model.h5")
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
manager = tf.train.CheckpointManager(checkpoint, "run", 3) if hvd.rank() == 0 else None
if manager is not None:
    manager.save()
```

## Source
Horovod's guide for TensorFlow, step 7; Horovod's issue 3170 (TensorBoard).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving.deeds import Deeds
from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import by_rank_0, horovod
from horovodize.restrictions.horovod.same_paths import is_same
from horovodize.restrictions.horovod.written_files import callbacks, events, files, saved
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit

_LOCKS = ("filelock.", "portalocker.", "fasteners.")
_THERE = ("exists", "isfile", "is_file")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if leaves_for_own_folder(context) or not use.starts:
        return
    of_events, deeds = set(events(context)), Deeds(context.facts)
    written = dict([*saved(context), *files(context), *callbacks(context), *of_events])
    for call, path in sorted(written.items(), key=lambda pair: position(pair[0])):
        if not _by_all(context, call, path):
            continue
        text = context.text(path) if path is not None else '"logs"'
        mixed = any(call is event for event, _ in of_events)
        is_backup = context.names.last(call.func) == "BackupAndRestore"  # each rank goes on from its own
        is_cache = deeds.kept_in(call) is not None
        yield RESTRICTION.at(
            context,
            call,
            f"every rank writes its events into `{text}`, and TensorBoard shows them as one run: let one do it, under "
            "`if hvd.rank() == 0:`"
            if mixed
            else f"every rank keeps its rows in `{text}`: give each a file of its own, with `hvd.rank()` in its name"
            if is_cache
            else f"every rank backs up into `{text}`: give each a folder of its own, with `hvd.rank()` in its name"
            if is_backup
            else f"every rank writes `{text}`: let one do it, under `if hvd.rank() == 0:`",
            severity=Severity.INFORMATION if mixed else None,
            fixes=[_fix(context, call) if not is_cache and not is_backup else None],
        )


def leaves_for_own_folder(context: Context) -> bool:
    """Whether a rank may work in another folder than the others, where a path is another file's: `os.chdir(folder)`."""
    left = context.module.calls_of("os.chdir")
    if len(left) != len(context.module.loads.get("chdir")):
        return True  # one that isn't called here, or is of something unknown
    folders = [argument(call, "path", 0) for call in left]
    return not all(folder is not None and is_same(context, folder) for folder in folders)


def _by_all(context: Context, call: ast.Call, path: ast.expr | None) -> bool:
    """Whether surely every rank makes a call, with the same path."""
    use = context.facts.horovod
    if not use.runs(call) or not use.on_ranks(call) or context.facts.rank_tests.is_guarded_everywhere(call):
        return False
    if (
        _is_of_another_run(context, call)
        or context.facts.never_run.is_at(call)
        or _is_first_alone(context, call)
    ):
        return False
    return (path is None or is_same(context, path)) and not _is_of_one_process(context, call)


def _is_of_another_run(context: Context, call: ast.Call) -> bool:
    """Whether no run that comes to a call trains, or none begins Horovod: `if args.predict: … else: …`."""
    trained = [n for n, collective in context.facts.collectives.all.items() if collective.trains]
    trained += [*(loop.node for loop in context.loops), *(fit.call for fit in context.sites.fits)]
    return any(
        places and all(context.facts.exclusive.apart(call, place) for place in places)
        for places in (context.facts.horovod.starts, trained)
    )


def _is_first_alone(context: Context, call: ast.Call) -> bool:
    """Whether the first rank that gets a lock writes, and the others find the file: `with FileLock(a): if not exists(b):`."""
    around = [a for a in context.syntax.ancestors(call) if isinstance(a, (ast.With, ast.If))]
    locks = [
        a
        for a in around
        if isinstance(a, ast.With)
        and any((context.names.of(c.func) or "").startswith(_LOCKS) for c in _made(a))
    ]
    tests = [n for a in around if isinstance(a, ast.If) for n in ast.walk(a.test) if isinstance(n, ast.Call)]
    return bool(locks) and any(context.names.last(n.func) in _THERE for n in tests)


def _made(statement: ast.With) -> list[ast.Call]:
    return [i.context_expr for i in statement.items if isinstance(i.context_expr, ast.Call)]


def _is_of_one_process(context: Context, call: ast.Call) -> bool:
    """Whether a test decides that may ask for the number of ranks, or whether there are several: its other arm uses Horovod."""
    use = context.facts.horovod
    tests = context.facts.rank_tests
    for test, arm in (
        around
        for way in context.ways(call)
        for frame in way
        for around in context.syntax.conditions(frame.node)
    ):
        if tests.asks_for_several(test.test):
            if not tests.is_taken_by_all(test.test, arm == "body"):
                return True
            continue
        arms = [arm if isinstance(arm, list) else [arm] for arm in (test.body, test.orelse)]
        uses = [
            any(use.name_of(n) for s in arm for n in ast.walk(s) if isinstance(n, ast.Call)) for arm in arms
        ]
        mine = next(
            (i for i, arm in enumerate(arms) if any(context.syntax.inside(call, s) for s in arm)), None
        )
        if mine is not None and not uses[mine] and uses[1 - mine]:
            return True
    return False


def _fix(context: Context, call: ast.Call) -> Fix | None:
    """Lets rank 0 alone write, or have the callback that writes."""
    parent, name = context.syntax.parent.get(call), horovod(context)
    if isinstance(parent, ast.List) and name is not None:
        edits = Edit.around(context.module.span(call), "*([", f"] if {name}.rank() == 0 else [])")
        return Fix("Give it to rank 0 alone", edits)
    if (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "append"
    ):
        return by_rank_0(context, parent)
    return by_rank_0(context, call)


RESTRICTION = Restriction(
    "HVD314",
    "written-by-all",
    "a file must be written by one rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
