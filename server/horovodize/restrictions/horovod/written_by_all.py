"""HVD314 written-by-all: a file must be written by one rank.

## What it protects
Ranks that write the same checkpoint at the same time leave one that can't be read, or a mixture. On several machines with a
folder in common it is the same.

## When it is reported
On `save`, `save_weights` and the like of models, savers, checkpoints and their managers, on `ModelCheckpoint`, `CSVLogger` and
`BackupAndRestore` in the callbacks of a `fit`, and on the folder that a `MonitoredTrainingSession` or an `Estimator` writes
to, where every rank runs them with the same path. Not under anything that may be a test of the rank, nor with a path that
can't be followed.

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

## Near misses
```python
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

## Source
Horovod's guide for TensorFlow, step 7.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import by_rank_0, horovod
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Severity, Violation
from horovodize.source import Edit
from horovodize.summary.sites import MODEL
from horovodize.summary.syntax import argument

_V1 = "tensorflow.compat.v1.train."
_FUNCTIONS = {  # and which argument is the path
    "tensorflow.saved_model.save": ("export_dir", 1),
    "tensorflow.keras.models.save_model": ("filepath", 1),
    _V1 + "MonitoredTrainingSession": ("checkpoint_dir", 2),
    "tensorflow.estimator.Estimator": ("model_dir", 1),
    "tensorflow.compat.v1.estimator.Estimator": ("model_dir", 1),
}
_SAVERS = {
    MODEL: ("filepath", 0),
    "tensorflow.train.Checkpoint": ("file_prefix", 0),
    _V1 + "Checkpoint": ("file_prefix", 0),
    _V1 + "Saver": ("save_path", 1),
}
_MANAGERS = ("tensorflow.train.CheckpointManager", _V1 + "CheckpointManager")
_WRITERS = {  # callbacks that write, and what the path is called: always the first argument
    "tensorflow.keras.callbacks.ModelCheckpoint": "filepath",
    "tensorflow.keras.callbacks.CSVLogger": "filename",
    "tensorflow.keras.callbacks.BackupAndRestore": "backup_dir",
    "tensorflow.keras.callbacks.experimental.BackupAndRestore": "backup_dir",
}
_TEXT = ("format", "join", "strip", "rstrip", "lower", "replace", "parse_args", "parse_known_args", "add_argument",
         "add_mutually_exclusive_group", "add_argument_group")  # fmt: skip
_SAFE = ("os.path.", "os.getcwd", "argparse.", "pathlib.", "tensorflow.compat.v1.app.flags.", "absl.flags.")
_PLAIN = ("str", "int", "float", "format", "len", "range", "enumerate", "round")


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    if context.module.loads.get("chdir") or not use.starts:
        return
    for call, path in [*_saved(context), *_callbacks(context)]:
        if not use.runs(call) or context.facts.rank_tests.may_be_guarded(call) or not _is_same(context, path):
            continue
        if _is_of_one_process(context, call):
            continue
        yield RESTRICTION.at(
            context,
            call,
            f"every rank writes `{context.text(path)}`: let one do it, under `if hvd.rank() == 0:`",
            fixes=[_fix(context, call)],
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
    fitted = {context.text(f.model) for f in context.sites.fits}
    for call in context.sites.method_calls("save", "save_weights"):
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
        if kind is None and context.text(receiver) in fitted:
            kind = _SAVERS[MODEL]
        path = argument(call, *kind) if kind is not None else None
        if path is not None:
            yield call, path


def _callbacks(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The callbacks that write, of those that every rank gives to a `fit`."""
    items = context.facts.callback_items
    for fit in context.sites.fits:
        if context.facts.rank_tests.may_be_guarded(fit.call):
            continue
        for item in items.of(fit.call):
            if item.by is not None or item.unsure or len(item.made) != 1:
                continue
            word = next((_WRITERS[c] for c in items.classes(item) if c in _WRITERS), None)
            path = argument(item.made[0], word, 0) if word is not None else None
            if path is not None and not context.facts.rank_tests.may_be_guarded(item.node):
                yield item.made[0], path


def _is_same(context: Context, path: ast.expr) -> bool:
    """Whether a path is surely the same on every rank: made of constants and of the script's own arguments only."""
    if any(isinstance(o.node, ast.Constant) and o.node.value is None for o in context.values.origins(path)):
        return False
    nodes = list(context.values.depends([path], 300))
    if len(nodes) >= 300:
        return False
    for node in nodes:
        if isinstance(node, ast.Call) and not _is_text(context, node):
            return False
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for binding in context.scopes.reaching(node):
                if binding.kind == "parameter" and not context.values.passed(binding):
                    return False
                if binding.kind == "import" and not binding.imported.startswith(
                    ("os", "argparse", "pathlib", "absl")
                ):
                    return False
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "argv", "pid"):
            return False
    return True


def _is_text(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    if name:
        return name.startswith(_SAFE)
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _TEXT
    return context.is_builtin(call.func, *_PLAIN) or context.values.callee(call) is not None


RESTRICTION = Restriction(
    "HVD314",
    "written-by-all",
    "a file must be written by one rank",
    Severity.WARNING,
    __doc__ or "",
    find,
)
