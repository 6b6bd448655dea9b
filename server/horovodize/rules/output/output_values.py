"""Output that is a value: files that stay open, summary writers, the path that a checkpoint was saved to. Part of C6.

A guard around the statement would leave its name unbound on the other ranks, so the value itself becomes another one there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from horovodize.python.opening import DATABASE, STORES
from horovodize.python.syntax import argument
from horovodize.rules.callbacks import keras_callbacks
from horovodize.rules.drafting.draft import ON_ROOT, Draft
from horovodize.rules.drafting.guards import Guarded, Guards, from_root
from horovodize.rules.output import stand_ins, tracked_runs
from horovodize.rules.output.callbacks_by_hand import called_by_hand, silence
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.output_calls import WRITER
from horovodize.summary.outputs import Outputs

_WRITER = "tensorflow.summary.create_file_writer"
_BUILDER = "tensorflow.compat.v1.saved_model.Builder"  # writes when its methods are called
_CONTRIB_WRITERS = {
    "tensorflow.contrib.summary.create_file_writer",
    "tensorflow.contrib.summary.create_summary_file_writer",
}
# Methods of loggers.
_TELLING = {"debug", "info", "warning", "warn", "error", "critical", "log", "exception"}
# Wrappers of games that write videos, and what they measured, into a folder.
_RECORDERS = {"gym.wrappers.Monitor", "gym.wrappers.RecordVideo", "gymnasium.wrappers.RecordVideo"}
_BY_NAME = {
    _WRITER,
    WRITER,
    _BUILDER,
    *_CONTRIB_WRITERS,
    *_RECORDERS,
    tracked_runs.INIT,
    "logging.basicConfig",
}
_EARLY = "every rank opens this file, before any rank is known: open it after Horovod is initialised"
_SUMMARIES = "Write summaries on rank 0 only"
_WHAT, _WHY = "Write the file on rank 0 only", "Every rank runs this; only one may write the file."
_RECORDED = "Record on rank 0 only"
_UPDATED = (
    "every rank would read this file and write it; do both on rank 0, and send the others what it has read "
    "(`hvd.broadcast_object`)"
)
_RUN = "every rank starts a run here; start it on rank 0 only"
_NEEDED = "every rank would write here, and goes on with what that gives; make it on rank 0, and send the others what it is"
_READING = ("read", "readline", "readlines", "truncate")
_LOADING = ("load", "safe_load", "full_load", "reader", "DictReader", "loadtxt", "genfromtxt", "read_csv")
_NO_DEVICE = {
    "h5py.File", "pandas.ExcelWriter", "cv2.VideoWriter", "imageio.get_writer", "zipfile.ZipFile", "numpy.memmap",
    "numpy.lib.format.open_memmap", "netCDF4.Dataset", "zarr.open",
}  # fmt: skip


def redirect(draft: Draft, outputs: Outputs, guards: Guards, guarded: Guarded) -> None:
    """Changes every value with which a rank other than 0 would write, outside guarded statements."""
    keras_callbacks.place_called_by_loops(draft)
    by_hand, on_root = called_by_hand(draft), keras_callbacks.on_root(draft)
    may_write = {*outputs.candidates, *draft.module.calls_of(*_BY_NAME), *by_hand}
    for call in [c for c in draft.syntax.calls if c in may_write]:
        name = draft.names.of(call.func) or ""
        if name not in _BY_NAME and call not in by_hand and not outputs.writes(call):
            continue
        if outputs.is_early(call) and outputs.opening.written(call) is not None:
            draft.ask("C6", call, _WHAT, _WHY, _EARLY)
        if call in guarded or not in_place(draft.module, call) or outputs.is_early(call):
            continue
        if any(a in on_root for a in draft.syntax.ancestors(call)):
            continue
        if call in by_hand:
            silence(draft, guards, call)
        elif name == _WRITER:
            _no_op_writer(draft, guards, call)
        elif name in (WRITER, _BUILDER):
            _silent_writer(draft, guards, call, _SUMMARIES)
        elif name in _CONTRIB_WRITERS:
            path = argument(call, "logdir", 0)
            if path is not None:  # without a directory, this makes a writer that does nothing
                draft.change("C6", call, _SUMMARIES, _WHY, guards.only_on_root(path))
        elif name in _RECORDERS:
            if call.args:  # the game itself is what the others play
                game = draft.module.text(call.args[0])
                draft.change("C6", call, _RECORDED, _WHY, guards.only_on_root(call, game))
        elif name == tracked_runs.INIT:
            tracked_runs.silence(draft, call)
        elif name == "logging.basicConfig":
            path = argument(call, "filename")
            if path is not None:
                draft.change(
                    "C6", call, "Write the log on rank 0 only", _WHY, _to_null_device(draft, guards, path)
                )
        elif (path := outputs.opening.written(call)) is not None:
            if _is_null_device(draft, path):
                continue
            is_database = name == DATABASE
            null = draft.quoted(":memory:") if is_database else _null_device(draft, call, path)
            if name in STORES:  # one of a rank's own, in a folder that is thrown away
                null = f"{draft.needed_module('tempfile')}.mkdtemp() + {draft.quoted('/own')}"
            if name in _NO_DEVICE and _may_stand_for(draft, call, name):
                _silent_writer(draft, guards, call, _WHAT)
            elif "+" in (outputs.opening.mode(call) or "") and (
                is_database or name in STORES or _is_read(draft, call)
            ):
                draft.refuse("HVD006", call, _UPDATED)
            elif (name in _NO_DEVICE and not _bears_device(call, name)) or null is None:
                name = name or draft.module.text(call.func)
                draft.refuse("HVD006", call, f"every rank would write this file, and `{name}` can't be given another one; "
                             "open it in a `with` that only writes")  # fmt: skip
            else:
                edits = [
                    *_to_device(draft, guards, outputs, call, path, null),
                    *_mode_of_device(draft, guards, call),
                ]
                draft.change("C6", call, _WHAT, _WHY, edits)
        else:
            output = outputs.effects.output_calls.of(call)
            if output is not None and output.kind == "write":
                _written_value(draft, guards, outputs, call, guarded)


def _silent_writer(draft: Draft, guards: Guards, made: ast.Call, what: str) -> None:
    """`FileWriter(d)` → `FileWriter(d) if hvd.rank() == 0 else types.SimpleNamespace(add_summary=lambda *args: None)`"""
    draft.change("C6", made, what, _WHY, guards.only_on_root(made, stand_ins.for_writer(draft, made)))


def _may_stand_for(draft: Draft, made: ast.Call, name: str) -> bool:
    """Whether `SilentWriter` does all that is done with what is opened: statements call its methods, as in
    `video.append_data(frame)`. A `with` is given one for what is called a writer."""
    parent = draft.syntax.parent[made]
    reads = _reads(draft, parent)
    if reads is None or (isinstance(parent, ast.withitem) and "writer" not in name.lower()):
        return False
    for n in reads:
        method = draft.syntax.parent[n]
        call = draft.syntax.parent[method]
        is_called = isinstance(method, ast.Attribute) and isinstance(call, ast.Call) and call.func is method
        if not is_called or not isinstance(draft.syntax.parent[call], ast.Expr):
            return False
    return True


def _bears_device(call: ast.Call, name: str) -> bool:
    """Whether what opens a file can write to the null device, though it makes more than a stream of bytes: an archive that
    begins empty; a video, which is then not opened, and takes pictures all the same."""
    mode = argument(call, "mode", 1)
    is_new = isinstance(mode, ast.Constant) and mode.value == "w"
    return name == "cv2.VideoWriter" or (name == "zipfile.ZipFile" and is_new)


def _is_read(draft: Draft, made: ast.Call) -> bool:
    """Whether what is opened is read or cut off, neither of which the null device bears: `f.read()`, `json.load(f)`."""
    for n in _reads(draft, draft.syntax.parent[made]) or ():
        around = draft.syntax.parent[n]
        if isinstance(around, ast.Attribute) and around.attr in _READING:
            return True
        if isinstance(around, ast.Call) and n in around.args and draft.names.last(around.func) in _LOADING:
            return True
        if isinstance(around, (ast.For, ast.comprehension)) and around.iter is n:
            return True
    return False


def _no_op_writer(draft: Draft, guards: Guards, call: ast.Call) -> None:
    """`tf.summary.create_file_writer(d)` → `… if hvd.rank() == 0 else tf.summary.create_noop_writer()`"""
    if isinstance(call.func, ast.Attribute):
        noop = f"{draft.module.text(call.func.value)}.create_noop_writer()"
    elif draft.module.tensorflow_name() is not None:
        noop = f"{draft.module.tensorflow_name()}.summary.create_noop_writer()"
    else:
        draft.refuse(
            "HVD006",
            call,
            "every rank would write these summaries; call it as `tf.summary.create_file_writer`",
        )
        return
    draft.change("C6", call, _SUMMARIES, _WHY, guards.only_on_root(call, noop))


def _to_device(
    draft: Draft, guards: Guards, outputs: Outputs, call: ast.Call, path: ast.expr, null: str
) -> list[Edit]:
    """`path if hvd.rank() == 0 else os.devnull`; of what is opened in a mode that a caller says, only to be written."""
    mode = argument(call, "mode", 1)
    if outputs.opening.mode(call) is not None or not isinstance(mode, (ast.Name, ast.Attribute)):
        return guards.only_on_root(path, null)
    reads = f"set({draft.module.text(mode)}).isdisjoint({draft.quoted('wax+')})"
    return guards.only_on_root(path, null, f"{ON_ROOT} or {reads}")


def _mode_of_device(draft: Draft, guards: Guards, call: ast.Call) -> Iterable[Edit]:
    """`"x"`, which wants a new file, is `"w"` where the device is opened, which is there."""
    mode = argument(call, "mode", 1)
    if not isinstance(mode, ast.Constant) or not isinstance(mode.value, str) or "x" not in mode.value:
        return ()
    return guards.only_on_root(mode, draft.quoted(mode.value.replace("x", "w")))


def _is_null_device(draft: Draft, path: ast.expr) -> bool:
    """Whether what is written goes nowhere already: `open(os.devnull, "w")`."""
    return (
        draft.names.of(path) == "os.devnull" or isinstance(path, ast.Constant) and path.value == "/dev/null"
    )


def _to_null_device(draft: Draft, guards: Guards, path: ast.expr) -> list[Edit]:
    return guards.only_on_root(path, _device(draft, path))


def _null_device(draft: Draft, call: ast.Call, path: ast.expr) -> str | None:
    """What stands for the path of a file that a call opens on ranks that write nothing; None if that can't be said: where
    the path opens itself, it has to be one of pathlib's."""
    if not isinstance(call.func, ast.Attribute) or call.func.value is not path:
        return _device(draft, path)
    for b in draft.module.scopes.imports:
        if b.imported in ("pathlib", "pathlib.Path") and draft.syntax.function(b.statement) is None:
            made = b.name if b.imported == "pathlib.Path" else f"{b.name}.Path"
            return f"{made}({_device(draft, path)})"
    return None


def _device(draft: Draft, path: ast.expr) -> str:
    os_name = next(
        (
            b.name
            for b in draft.module.scopes.imports
            if b.imported == "os"
            and draft.syntax.function(b.statement) is None
            and draft.module.scopes.root(b.statement) is draft.module.scopes.root(path)
        ),
        None,
    )
    return f"{os_name}.devnull" if os_name else draft.quoted("/dev/null")


def _written_value(draft: Draft, guards: Guards, outputs: Outputs, call: ast.Call, guarded: Guarded) -> None:
    """A call that writes, in the middle of an expression: `path = checkpoint.save(…)`."""
    parent = draft.syntax.parent[call]
    if isinstance(parent, ast.Expr):
        return  # a statement that was left to every rank on purpose
    name = draft.names.of(call.func) or ""
    if isinstance(parent, ast.withitem) or name.rsplit(".", 1)[-1][:1].isupper():
        if name.startswith("mlflow."):
            draft.note("C6", call, _RUN)
        elif _may_stand_for(draft, call, name):
            _silent_writer(draft, guards, call, _SUMMARIES if "summary" in name.lower() else _WHAT)
        else:
            draft.refuse(
                "HVD006", call, f"every rank would write what `{name}` writes; make it on rank 0 only"
            )
        return
    if not _has_value(draft, outputs, call):
        if not _is_looked_into(draft, call, guarded):
            draft.change("C6", call, _WHAT, _WHY, guards.only_on_root(call))
        elif name.startswith("mlflow."):
            draft.note("C6", call, _RUN)
        else:
            draft.refuse("HVD006", call, _NEEDED)
        return
    reads = _reads(draft, parent)
    elsewhere = (
        None
        if reads is None
        else [n for n in reads if n not in guarded and not _is_only_told(draft, outputs, n)]
    )
    if elsewhere == []:
        edits = guards.only_on_root(call)
    elif guarded.collective(call):
        edits = list(
            Edit.around(draft.module.span(call), f"{from_root(draft)}(", f" if {ON_ROOT} else None)")
        )
        guarded.told.add(call)
    elif elsewhere and all(guarded.collective(n) and in_place(draft.module, n) for n in elsewhere):
        edits = guards.only_on_root(call)
        for n in elsewhere:
            guarded.told.add(draft.syntax.statement(n))
            edits += Edit.around(draft.module.span(n), f"{from_root(draft)}(", ")")
    else:
        draft.refuse(
            "HVD006",
            call,
            "every rank would write this file, and its name is used under a condition that may differ between ranks",
        )
        return
    draft.change("C6", call, _WHAT, _WHY, edits)


def _is_looked_into(draft: Draft, call: ast.Call, guarded: Guarded) -> bool:
    """Whether a rank that writes nothing would fail, as it goes on with something of what a call gives that writes:
    `experiment = mlflow.set_experiment(name)`, and then `experiment.experiment_id`."""
    parent = draft.syntax.parent[call]
    reads = [n for n in _reads(draft, parent) or () if n not in guarded]
    used = [(call, parent), *((n, draft.syntax.parent[n]) for n in reads)]
    return any(isinstance(by, (ast.Attribute, ast.Subscript)) and by.value is e for e, by in used)


def _is_only_told(draft: Draft, outputs: Outputs, read: ast.Name) -> bool:
    """`logging.info("saved to %s" % path)`: a rank that has no path may say so; also one that nobody hears."""
    statement = draft.syntax.statement(read)
    said = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(said, ast.Call):
        return False
    unheard = outputs.silenced and outputs.effects.output_calls.speaks(said)
    logs = isinstance(said.func, ast.Attribute) and said.func.attr in _TELLING
    between = [a for a in draft.syntax.ancestors(read) if draft.syntax.inside(a, said) and a is not said]
    formatted = all(
        isinstance(a, (ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.keyword))
        or (isinstance(a, ast.BinOp) and isinstance(a.op, ast.Mod) and isinstance(a.left, ast.Constant))
        or (isinstance(a, ast.Call) and isinstance(a.func, ast.Attribute) and a.func.attr == "format")
        for a in between
    )
    return formatted and (unheard or logs)


def _has_value(draft: Draft, outputs: Outputs, call: ast.Call) -> bool:
    """Whether a call that writes may return something, and it is not thrown away."""
    node: ast.AST = call
    for a in draft.syntax.ancestors(call):
        if isinstance(a, ast.Expr):
            return False
        if not isinstance(a, (ast.BoolOp, ast.IfExp, ast.ListComp, ast.GeneratorExp)) or (
            isinstance(a, ast.IfExp) and a.test is node
        ):
            break
        node = a
    name = draft.names.of(call.func) or ""
    if name.startswith(("shutil.", "tensorflow.compat.v1.train.")):
        return True
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (
        method in ("save", "write")
        and isinstance(call.func, ast.Attribute)
        and not outputs.effects.output_calls.models.is_one(call.func.value)
    )


def _reads(draft: Draft, parent: ast.AST) -> list[ast.Name] | None:
    """The places that read the name to which an assignment binds its value, none where it is returned to callers that throw
    it away; None where it is bound to something else."""
    if isinstance(parent, ast.Return):
        function = draft.syntax.function(parent)
        callers = draft.values.callers(function) if function is not None else []
        return [] if callers and all(isinstance(draft.syntax.parent[c], ast.Expr) for c in callers) else None
    target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
    if isinstance(parent, ast.AnnAssign):
        target = parent.target
    elif isinstance(parent, ast.withitem):
        target, parent = parent.optional_vars, draft.syntax.parent[parent]
    if not isinstance(target, ast.Name):
        return None
    scope = draft.module.scopes.lookup(target.id, target)
    return [
        n
        for n in draft.syntax.nodes
        if isinstance(n, ast.Name)
        and n.id == target.id
        and isinstance(n.ctx, ast.Load)
        and draft.module.scopes.lookup(n.id, n) is scope
        and any(b.statement is parent for b in draft.module.scopes.reaching(n))
    ]
