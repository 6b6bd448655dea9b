"""HVD314 written-by-all: a file must be written by one rank.

## What it protects
Ranks that write the same checkpoint at the same time leave one that can't be read, or a mixture. On several machines with a
folder in common it is the same.

## When it is reported
On `save`, `save_weights` and the like of models, savers, checkpoints and their managers, on files that are opened for writing,
arrays, tables, pictures and texts that are saved (`np.save`, `to_csv`, `savefig`, `write_text`), on `ModelCheckpoint`,
`CSVLogger` and `BackupAndRestore` in the callbacks of a `fit`, and on the folder that a `MonitoredTrainingSession` or an
`Estimator` writes to (its own, or its `RunConfig`'s, unless that lets rank 0 alone save), where every rank runs them with the
same path. As information, on `TensorBoard` and summary writers: each process has an event file of its own, and TensorBoard
shows them as one mixed run. Not under anything that may be a test of the rank (a decorator may be one), nor with a path that
can't be followed, that is temporary or that lines are only appended to.

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
import re
from collections.abc import Iterator

from horovodize.facts import command_line
from horovodize.interleaving.actions import Deed
from horovodize.interleaving.deeds import Deeds
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import by_rank_0, horovod
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.sites import MODEL
from horovodize.summary.syntax import argument, position, says_none

_V1 = "tensorflow.compat.v1.train."
_FUNCTIONS = {  # and which argument is the path
    _V1 + "MonitoredTrainingSession": ("checkpoint_dir", 2),
}
_ESTIMATORS = ("tensorflow.estimator.Estimator", "tensorflow.compat.v1.estimator.Estimator")
_SAVERS = {
    MODEL: ("filepath", 0),  # also of models that only a `fit` shows to be such
    "tensorflow.train.Checkpoint": ("file_prefix", 0),
    _V1 + "Checkpoint": ("file_prefix", 0),
    _V1 + "Saver": ("save_path", 1),
}
_CHECKPOINTS = ("tensorflow.train.Checkpoint", _V1 + "Checkpoint")
_MANAGERS = ("tensorflow.train.CheckpointManager", _V1 + "CheckpointManager")
_WRITERS = {  # callbacks that write, and what the path is called: always the first argument
    "tensorflow.keras.callbacks.ModelCheckpoint": "filepath",
    "tensorflow.keras.callbacks.CSVLogger": "filename",
    "tensorflow.keras.callbacks.BackupAndRestore": "backup_dir",
    "tensorflow.keras.callbacks.experimental.BackupAndRestore": "backup_dir",
}
# What writes event files, and what their folder is called: always the first argument.
_EVENTS = {
    "torch.utils.tensorboard.SummaryWriter": "log_dir",
    "torch.utils.tensorboard.writer.SummaryWriter": "log_dir",
    "tensorboardX.SummaryWriter": "logdir",
    "tensorflow.summary.create_file_writer": "logdir",
    "tensorflow.compat.v1.summary.FileWriter": "logdir",
}
_TENSORBOARD = "tensorflow.keras.callbacks.TensorBoard"
_TEXT = ("format", "join", "joinpath", "as_posix", "resolve", "absolute", "expanduser", "with_name", "with_suffix",
         "strip", "rstrip", "lower", "replace", "parse_args", "parse_known_args", "add_argument",
         "add_mutually_exclusive_group", "add_argument_group")  # fmt: skip
_SAFE = ("os.path.", "os.getcwd", "argparse.", "pathlib.", "tensorflow.compat.v1.app.flags.", "absl.flags.",
         "tensorflow.flags.", "tensorflow.compat.v1.flags.")  # fmt: skip
# Variables of the environment that differ between processes, or hosts.
_OF_PROCESS = re.compile(
    r"RANK|PROC|LOCAL|NODE|HOST|TASK|WORKER|INDEX|ID$|TE?MP|SCRATCH|CUDA|GPU", re.IGNORECASE
)
# Files of settings that are read are the same for all ranks.
_READERS = ("json", "yaml", "toml", "tomli", "tomllib")
_READING = (
    "json.load", "json.loads", "yaml.load", "yaml.safe_load", "yaml.full_load", "toml.load", "tomli.load", "tomllib.load",
)  # fmt: skip
_TRAINED = ("trainable_variables", "trainable_weights")
_AGREED = ("broadcast_object", "broadcast")  # rank 0's value, whatever it is made of
_PLAIN = ("open", "str", "int", "float", "format", "len", "range", "enumerate", "round")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if leaves_for_own_folder(context) or not use.starts:
        return
    events, deeds = set(_events(context)), Deeds(context.facts)
    written = dict([*_saved(context), *_files(context), *_callbacks(context), *events])
    for call, path in sorted(written.items(), key=lambda pair: position(pair[0])):
        if not _by_all(context, call, path):
            continue
        text = context.text(path) if path is not None else '"logs"'
        mixed = any(call is event for event, _ in events)
        is_cache = deeds.kept_in(call) is not None
        yield RESTRICTION.at(
            context,
            call,
            f"every rank writes its events into `{text}`, and TensorBoard shows them as one run: let one do it, under "
            "`if hvd.rank() == 0:`"
            if mixed
            else f"every rank keeps its rows in `{text}`: give each a file of its own, with `hvd.rank()` in its name"
            if is_cache
            else f"every rank writes `{text}`: let one do it, under `if hvd.rank() == 0:`",
            severity=Severity.INFORMATION if mixed else None,
            fixes=[_fix(context, call) if not is_cache else None],
        )


def leaves_for_own_folder(context: Context) -> bool:
    """Whether a rank may work in another folder than the others, where a path is another file's: `os.chdir(folder)`."""
    left = context.module.calls_of("os.chdir")
    if len(left) != len(context.module.loads.get("chdir")):
        return True  # one that isn't called here, or is of something unknown
    folders = [argument(call, "path", 0) for call in left]
    return not all(folder is not None and _is_same(context, folder) for folder in folders)


def _by_all(context: Context, call: ast.Call, path: ast.expr | None) -> bool:
    """Whether surely every rank makes a call, with the same path."""
    use = context.facts.horovod
    if not use.runs(call) or not use.on_ranks(call) or context.facts.rank_tests.is_guarded_everywhere(call):
        return False
    if _is_of_another_run(context, call) or context.facts.never_run.is_at(call):
        return False
    return (path is None or _is_same(context, path)) and not _is_of_one_process(context, call)


def _is_of_another_run(context: Context, call: ast.Call) -> bool:
    """Whether no run that comes to a call trains, or none begins Horovod: `if args.predict: … else: …`."""
    trained = [n for n, collective in context.facts.collectives.all.items() if collective.trains]
    trained += [*(loop.node for loop in context.loops), *(fit.call for fit in context.sites.fits)]
    return any(
        places and all(context.facts.exclusive.apart(call, place) for place in places)
        for places in (context.facts.horovod.starts, trained)
    )


def _is_of_one_process(context: Context, call: ast.Call) -> bool:
    """Whether a test decides that may ask for the number of ranks, or whether there are several: its other arm uses Horovod."""
    use = context.facts.horovod
    for test in (
        test
        for way in context.ways(call)
        for frame in way
        for test, _ in context.syntax.conditions(frame.node)
    ):
        if context.facts.rank_tests.asks_for_several(test.test):
            return True
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


def _saved(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that write, and the paths that they write to."""
    for name, (keyword, at) in _FUNCTIONS.items():
        for call in context.module.calls_of(name):
            path = argument(call, keyword, at)
            if path is not None:
                yield call, path
    yield from _of_estimators(context)
    fitted = {context.text(f.model) for f in context.sites.fits}
    for name in _TRAINED:  # by a tape, which asks for them
        fitted |= {
            context.text(n.value) for n in context.module.loads.get(name) if isinstance(n, ast.Attribute)
        }
    for call in context.sites.method_calls("save", "save_weights", "write"):
        assert isinstance(call.func, ast.Attribute)
        if context.names.of(call.func) is not None or context.values.callee(call) is not None:
            continue
        receiver = call.func.value
        managers = [c for c in context.values.calls(receiver) if context.names.of(c.func) in _MANAGERS]
        if len(managers) == 1 and (folder := argument(managers[0], "directory", 1)) is not None:
            yield call, folder
            continue
        classes = context.values.class_names(receiver)
        kind = next((_SAVERS[c] for c in _SAVERS if c in classes), None)
        if call.func.attr == "write" and not any(c in classes for c in _CHECKPOINTS):
            continue
        if kind is None and context.text(receiver) in fitted:
            kind = _SAVERS[MODEL]
        path = argument(call, *kind) if kind is not None else None
        if path is not None:
            yield call, path


def _of_estimators(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Estimators, and the folders that they write to: their own, or that of their configuration. Not where that lets some ranks
    save no checkpoints (`save_checkpoints_steps=500 if hvd.rank() == 0 else None`)."""
    for call in context.module.calls_of(*_ESTIMATORS):
        config = argument(call, "config", 2)
        made = context.values.calls(config) if config is not None else []
        runs = [c for c in made if context.names.last(c.func) == "RunConfig"]
        path = argument(call, "model_dir", 1)
        if path is None and len(runs) == 1:
            path = argument(runs[0], "model_dir", 0)
        if path is not None and not any(_is_saved_by_some(context, run) for run in runs):
            yield call, path


def _is_saved_by_some(context: Context, run: ast.Call) -> bool:
    """Whether the rank decides when a configuration saves."""
    given = [argument(run, word) for word in ("save_checkpoints_steps", "save_checkpoints_secs")]
    return any(
        isinstance(n, ast.IfExp) and context.facts.rank_tests.may_decide(n.test)
        for n in context.values.depends([e for e in given if e is not None], 100)
    )


def _files(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that write a file whose path they name."""
    deeds = Deeds(context.facts)
    for call in context.syntax.calls:
        for touch in deeds.of(call):
            if touch.deed is Deed.WRITE and isinstance(touch.path, ast.expr):
                yield call, touch.path


def _events(context: Context) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """What writes event files, and their folder; None for the usual one."""
    for name, word in _EVENTS.items():
        for call in context.module.calls_of(name):
            if (folder := argument(call, word, 0)) is not None:
                yield call, folder
    for made, classes in _given_to_all(context):
        if _TENSORBOARD in classes:
            yield made, argument(made, "log_dir", 0)


def _callbacks(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The callbacks that write a file."""
    for made, classes in _given_to_all(context):
        word = next((_WRITERS[c] for c in classes if c in _WRITERS), None)
        path = argument(made, word, 0) if word is not None else None
        if path is not None:
            yield made, path


def _given_to_all(context: Context) -> Iterator[tuple[ast.Call, set[str]]]:
    """The callbacks that every rank gives to a `fit`, and the classes that they are of."""
    items = context.facts.callback_items
    for fit in context.sites.fits:
        if context.facts.rank_tests.may_be_guarded(fit.call):
            continue
        for item in items.of(fit.call):
            if item.by is not None or item.unsure or len(item.made) != 1:
                continue
            if not context.facts.rank_tests.may_be_guarded(item.node):
                yield item.made[0], items.classes(item)


def _is_same(context: Context, path: ast.expr) -> bool:
    """Whether a path is surely the same on every rank: made of constants, the script's own arguments and
    the number of ranks only."""
    if any(says_none(o.node) for o in context.values.origins(path)):
        return False
    nodes = list(context.values.depends([path], 300))
    if len(nodes) >= 300:
        return False
    # The fields of an elastic state and what rank 0 sends are the same on all ranks, whatever they are made of.
    states = [n for n in nodes if isinstance(n, ast.Name) and context.facts.collectives.is_elastic_state(n)]
    sent = [
        e
        for n in nodes
        if isinstance(n, ast.Call) and context.facts.horovod.is_call(n, *_AGREED)
        for e in n.args
    ]
    known = set(context.values.depends([*states, *sent], 300)) if states or sent else set()
    for node in nodes:
        if node in known:
            continue
        if isinstance(node, ast.Call) and not _is_text(context, node):
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for binding in context.scopes.reaching(node):
                if binding.kind == "parameter" and not context.values.passed(binding):
                    if not context.holds_seen_attribute(node) and not _is_object_of_seen(context, node):
                        return False
                if (
                    binding.kind == "import"
                    and not binding.imported.startswith(("os", "argparse", "pathlib", "absl", "horovod"))
                    and not _is_in_flags(context, node)
                    and not _is_of_member(context, node, binding.imported)
                ):
                    return False
        if isinstance(node, ast.Attribute) and node.attr in ("argv", "pid"):
            return False
        if isinstance(node, ast.Attribute) and node.attr == "environ" and not _is_of_job(context, node):
            return False
    return True


def _is_object_of_seen(context: Context, node: ast.Name) -> bool:
    """Whether a name is there for a method alone that is seen: `self.name_of(epoch)`."""
    method = context.syntax.parent.get(node)
    call = context.syntax.parent.get(method) if isinstance(method, ast.Attribute) else None
    return isinstance(call, ast.Call) and call.func is method and context.values.callee(call) is not None


def _is_in_flags(context: Context, name: ast.Name) -> bool:
    """Whether a name is the beginning of `tf.flags.FLAGS`, or of a module that this is asked of by another name."""
    full = context.names.of(name) or ""
    around: ast.AST = name
    while isinstance(parent := context.syntax.parent.get(around), ast.Attribute):
        around = parent
        full = context.names.of(parent) or ""
        if command_line.is_flags(context.module, parent):
            return True
    return full in ("tensorflow", "tensorflow.compat.v1") or full.endswith(".flags")


def _is_of_member(context: Context, name: ast.Name, imported: str) -> bool:
    """Whether what a name of a module of the project stands for, or an attribute of it that is read here, is seen."""
    if imported.split(".", maxsplit=1)[0] not in context.facts.horovod.members:
        return imported in _READERS
    read: ast.expr = name
    while isinstance(parent := context.syntax.parent.get(read), ast.Attribute):
        read = parent
    call = context.syntax.parent.get(read)
    if isinstance(call, ast.Call) and call.func is read:
        return context.values.callee(call) is not None
    return any(o.node is not read and not o.path for o in context.values.origins(read))


def _is_of_job(context: Context, read: ast.AST) -> bool:
    """Whether a variable of the environment is asked for, and none that a launcher sets for each process, or a host for itself:
    `os.environ["OUTPUT"]`, `os.getenv("OUTPUT")`."""
    around = context.syntax.parent.get(read)
    if isinstance(around, ast.Attribute) and around.attr == "get":
        read, around = around, context.syntax.parent.get(around)
    key: ast.AST | None = None
    if isinstance(around, ast.Subscript) and around.value is read:
        key = around.slice
    elif isinstance(around, ast.Call) and around.func is read:
        key = argument(around, "key", 0)
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and not _OF_PROCESS.search(key.value)


def _is_text(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    if name in ("os.getenv", "os.environ.get"):
        return _is_of_job(context, call.func)
    if context.values.callee(call) is not None:
        return True
    if name:
        known = name.startswith(_SAFE) or name in _READING
        return known or context.facts.horovod.is_call(call, "size", "local_size", *_AGREED)
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _TEXT
    return context.is_builtin(call.func, *_PLAIN)


RESTRICTION = Restriction(
    "HVD314",
    "written-by-all",
    "a file must be written by one rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
