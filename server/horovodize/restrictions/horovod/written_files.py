"""What writes files in a script that trains, and where (HVD314)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving.actions import Deed
from horovodize.interleaving.deeds import Deeds
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.models_in_tables import of_table
from horovodize.summary.sites import MODEL

_V1 = "tensorflow.compat.v1.train."
_FUNCTIONS = {  # and which argument is the path
    _V1 + "MonitoredTrainingSession": ("checkpoint_dir", 2),
}
_HOOKS = {  # that write, and what their folder is called
    _V1 + "CheckpointSaverHook": ("checkpoint_dir", 0),
    "tensorflow.estimator.CheckpointSaverHook": ("checkpoint_dir", 0),
}
_OF_EVENTS = (_V1 + "SummarySaverHook", "tensorflow.estimator.SummarySaverHook")
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
_TRAINED = ("trainable_variables", "trainable_weights")


def saved(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that write, and the paths that they write to."""
    for name, (keyword, at) in _FUNCTIONS.items():
        for call in context.module.calls_of(name):
            path = argument(call, keyword, at)
            if path is not None:
                yield call, path
    for name, (keyword, at) in _HOOKS.items():
        for call in context.module.calls_of(name):
            path = argument(call, keyword, at)
            if path is not None and _is_given_to_all(context, call):
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
        if kind is None and (context.text(receiver) in fitted or _is_model_of_table(context, receiver)):
            kind = _SAVERS[MODEL]
        path = argument(call, *kind) if kind is not None else None
        if path is not None:
            yield call, path


def _is_model_of_table(context: Context, receiver: ast.expr) -> bool:
    """Whether this is one of the models of a dictionary, `nets["critic"]`, or each in turn: `for net in nets.values():`."""
    made = of_table(context, receiver)
    return bool(made) and all(MODEL in context.values.class_names(call) for call in made)


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


def _is_given_to_all(context: Context, hook: ast.Call) -> bool:
    """Whether a hook stands in a list, or is put into one, that no test of the rank hands on."""
    syntax, guarded = context.syntax, context.facts.rank_tests.may_be_guarded
    around = syntax.parent.get(hook)
    if isinstance(around, ast.Call) and context.names.last(around.func) in ("append", "insert", "extend"):
        owner = around.func.value if isinstance(around.func, ast.Attribute) else None
    elif isinstance(around, ast.List):
        kept = syntax.parent.get(around)
        if not isinstance(kept, ast.Assign):
            return not guarded(hook)
        owner = kept.targets[0]
    else:
        return False
    if not isinstance(owner, ast.Name):
        return False
    reads = [n for n in context.module.loads.get(owner.id) if not _is_put_into(context, n)]
    return bool(reads) and not any(guarded(n) for n in (hook, *reads))


def _is_put_into(context: Context, name: ast.expr) -> bool:
    """`hooks.append(…)`: nothing is handed on."""
    method = context.syntax.parent.get(name)
    return isinstance(method, ast.Attribute) and method.attr in ("append", "insert", "extend")


def files(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that write a file whose path they name."""
    deeds = Deeds(context.facts)
    for call in context.syntax.calls:
        for touch in deeds.of(call):
            if touch.deed is Deed.WRITE and isinstance(touch.path, ast.expr):
                yield call, touch.path


def events(context: Context) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """What writes event files, and their folder; None for the usual one."""
    for name, word in _EVENTS.items():
        for call in context.module.calls_of(name):
            if (folder := argument(call, word, 0)) is not None:
                yield call, folder
    for call in context.module.calls_of(*_OF_EVENTS):
        if (folder := argument(call, "output_dir", 2)) is not None and _is_given_to_all(context, call):
            yield call, folder
    for made, classes in _given_to_all(context):
        if _TENSORBOARD in classes:
            yield made, argument(made, "log_dir", 0)


def callbacks(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
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
