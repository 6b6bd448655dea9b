"""Files that a program writes and later reads back: which reading comes after which writing, and where.

Reading and writing belong together when they are about models and checkpoints whose names may be the same, or about files
whose path is written the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from horovodize import catalogue
from horovodize.python.module import Module
from horovodize.python.paths_of_files import KEPT, Paths, may_be_in, may_be_same
from horovodize.python.syntax import FUNCTIONS, LOOPS, Function, argument, position
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Drive, Frame
from horovodize.summary.effects import Effects
from horovodize.summary.outputs import Outputs

Family = Literal["model", "file", "folder"]
_MODEL_WRITERS = {"tensorflow.saved_model.save", "tensorflow.keras.models.save_model"}
_MODEL_READERS = {
    "tensorflow.keras.models.load_model", "tensorflow.saved_model.load", "tensorflow.train.latest_checkpoint",
    "tensorflow.train.load_checkpoint", "tensorflow.train.list_variables", "tensorflow.train.load_variable",
    "tensorflow.train.get_checkpoint_state", "tensorflow.lite.TFLiteConverter.from_saved_model",
    "tensorflow.compat.v1.saved_model.load",
}  # fmt: skip
_FILE_READERS = {
    "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "pandas.read_csv", "pandas.read_pickle",
    "pandas.read_hdf", "pandas.read_json", "pandas.read_excel", "pandas.read_parquet", "cv2.imread", "joblib.load",
    "matplotlib.pyplot.imread", "matplotlib.image.imread", "imageio.imread", "PIL.Image.open", "tensorflow.io.read_file",
    "tensorflow.data.TFRecordDataset", "tensorflow.data.TextLineDataset", "tensorflow.data.Dataset.list_files",
    "tensorflow.data.FixedLengthRecordDataset", "tensorflow.data.experimental.make_csv_dataset", "os.listdir",
    "os.scandir", "os.chdir", "os.walk",
    "tensorflow.compat.v1.train.string_input_producer", "tensorflow.compat.v1.train.match_filenames_once",
    "tensorflow.compat.v1.python_io.tf_record_iterator", "tensorflow.compat.v1.io.tf_record_iterator",
    "tensorflow.compat.v1.gfile.Glob", "tensorflow.compat.v1.gfile.ListDirectory",
    "glob.glob", "tensorflow.io.gfile.glob", "tensorflow.io.gfile.listdir", "scipy.io.loadmat",
}  # fmt: skip
_FOLDER_READERS = {
    "tensorflow.keras.utils.image_dataset_from_directory", "tensorflow.keras.utils.text_dataset_from_directory",
    "tensorflow.keras.utils.audio_dataset_from_directory",
}  # fmt: skip
_WRITE_TEXTS, _READ_TEXTS = (
    ("write_text", "write_bytes"),
    ("read_text", "read_bytes"),
)  # methods of the path itself
_LISTERS = {
    "glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk", "tensorflow.io.gfile.glob", "tensorflow.io.gfile.listdir",
    "tensorflow.io.gfile.walk", "tensorflow.compat.v1.gfile.Glob", "tensorflow.compat.v1.gfile.ListDirectory",
}  # fmt: skip
_LISTING_METHODS = ("glob", "rglob", "iterdir")  # of a folder's path
_RESTORING = ("restore", "read", "restore_or_initialize")  # of what keeps checkpoints
_THERE = ("exists", "isfile", "is_file")
_CALLBACK = "tensorflow.keras.callbacks.Callback"
_LATE_HOOKS = ("on_train_end", "on_epoch_end", "on_epoch_begin")
_PATHS = (
    "filepath",
    "path",
    "file",
    "fname",
    "filename",
    "file_prefix",
    "save_path",
    "export_dir",
    "checkpoint_dir",
    "name",
    "dst",
)
_SECOND = ("shutil.", "os.rename", "os.replace", "cv2.imwrite.")  # their second argument is what they write


@dataclass(frozen=True)
class Access:
    """One place that reads or writes. `path` is the expression that says where, None when an object keeps it."""

    node: ast.AST
    family: Family
    path: ast.expr | None


@dataclass(frozen=True)
class Cache:
    """`write` writes a file where the test of an `if` has found that there is none; where there is one, `read` reads it."""

    decision: ast.If
    write: Access
    read: Access


@dataclass(frozen=True)
class ReadBack:
    """`read` reads what `write` has written before. `place` is the statement before which all ranks must have waited:
    the one that leads to the reading in the innermost block that leads to both; `after` leads to the writing there."""

    write: Access
    read: Access
    place: ast.stmt
    after: ast.stmt


class Files:
    """Files of one module."""

    def __init__(self, module: Module, effects: Effects, outputs: Outputs, drive: Drive) -> None:
        self.module, self.effects, self.outputs, self.drive = module, effects, outputs, drive
        self._paths = Paths(module)
        self._known_ways: dict[ast.AST, list[list[Frame]]] = {}

    def read_back(self) -> Iterator[ReadBack]:
        """Every reading of something that was written before it, in the order of the text; attributes first."""
        writes = list(self._writes())
        if not writes:
            return
        reads = sorted(
            self._reads(), key=lambda r: isinstance(r.node, ast.Call)
        )  # what rank 0 tells makes others wait
        for read in reads:
            for write in writes:
                same = write.family == read.family and self._same_file(write, read)
                if same or self._is_in_folder(write, read):
                    yield from self._in_order(write, read)

    def written_over(self) -> Iterator[ReadBack]:
        """Every writing of a file that was read before it, the other way round: `after` leads to the reading, `place` to the
        writing."""
        writes = [w for w in self._writes() if w.family == "file" and w.path is not None]
        for read in self._reads() if writes else ():
            for write in writes:
                if read.family == "file" and self._same_file(write, read):
                    for found in self._in_order(read, write):
                        yield ReadBack(write, read, found.place, found.after)

    def kept_by_fit(self, functions: Collection[ast.AST]) -> Iterator[Access]:
        """Every reading, in functions that `fit` calls itself, of what its callbacks keep there: the best weights."""
        fits = {f.call for f in self.effects.sites.fits}
        kept = [w for w in self._writes() if w.node in fits]
        for read in self._reads() if kept else ():
            within = self.module.syntax.function(read.node) in functions
            if within and any(w.family == read.family and self._same_file(w, read) for w in kept):
                yield read

    def caches(self) -> Iterator[Cache]:
        """Every `if` that asks whether a file is there, which is written later by it or beside it."""
        asked = [
            (decision, Access(call, "file", path))
            for decision in self.module.syntax.every(ast.If)
            for call in walk(decision.test)
            if isinstance(call, ast.Call) and (path := self._asked_for(call)) is not None
        ]
        writes = [w for w in self._writes() if w.family == "file"] if asked else []
        reads = [r for r in self._reads() if r.family == "file"] if writes else []
        for decision, test in asked:
            written = (w for w in writes if self._same_file(w, test) and self._hangs_on(w.node, decision))
            read = (r for r in reads if self._same_file(r, test) and self._hangs_on(r.node, decision))
            write, back = next(written, None), next(read, None)
            if write is not None and back is not None:
                yield Cache(decision, write, back)

    def _asked_for(self, call: ast.Call) -> ast.expr | None:
        """The path of `os.path.exists(path)`, `path.is_file()`."""
        if self.module.names.last(call.func) not in _THERE or not isinstance(call.func, ast.Attribute):
            return None
        return call.args[0] if call.args else call.func.value

    def _hangs_on(self, node: ast.AST, decision: ast.If) -> bool:
        """Whether an `if` decides that a node runs: in it, or after it where an arm leaves."""
        syntax = self.module.syntax
        block = syntax.block(decision)
        leaves = isinstance(decision.body[-1], (ast.Return, ast.With)) and any(
            isinstance(n, ast.Return) for n in ast.walk(decision.body[-1])
        )
        after = block[block.index(decision) + 1 :] if leaves else []
        nodes = [f.node for way in self.drive.ways(node) for f in way]
        return any(
            syntax.inside(n, s) and n not in ast.walk(decision.test)
            for n in nodes
            for s in (decision, *after)
        )

    # ------------------------------------------------------------------ accesses

    def _writes(self) -> Iterator[Access]:
        m = self.module
        may_write = {*self.outputs.candidates, *m.calls_of(*_MODEL_WRITERS)}
        for call in [c for c in m.syntax.calls if c in may_write]:
            name = m.names.of(call.func) or ""
            opened = self.outputs.opening.written(call)
            output = self.effects.output_calls.of(call)
            if opened is not None:
                yield Access(call, "file", opened)
            elif name in _MODEL_WRITERS:
                yield Access(call, "model", argument(call, "export_dir", 1) or argument(call, "filepath", 1))
            elif output is not None and output.kind == "write":
                method = call.func.attr if isinstance(call.func, ast.Attribute) and not name else ""
                if isinstance(call.func, ast.Attribute) and call.func.attr in _WRITE_TEXTS:
                    yield Access(call, "file", call.func.value)
                elif method in ("save", "save_weights", "save_model", "write", "export"):
                    yield Access(call, "model", None if self._is_manager(call.func) else _path(call, 0))
                else:
                    yield Access(call, "file", _path(call, 1 if name.startswith(_SECOND) else 0))
                    if name.startswith("shutil."):  # arranges folders, it can't be seen which
                        yield Access(call, "folder", None)
        for checkpoint in m.calls_of(
            "tensorflow.keras.callbacks.ModelCheckpoint", "tensorflow.keras.callbacks.BackupAndRestore"
        ):
            for fit in self.effects.sites.fits:
                yield Access(fit.call, "model", _path(checkpoint, 0))
        for log in m.calls_of("tensorflow.keras.callbacks.CSVLogger"):
            for fit in self.effects.sites.fits:
                yield Access(fit.call, "file", _path(log, 0))

    def _reads(self) -> Iterator[Access]:
        m = self.module
        may_read = {*m.calls_which(_may_read), *self.outputs.opening.calls}
        for node in m.syntax.every(ast.Attribute, ast.Call):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "latest_checkpoint"
                and self._is_manager(node)
            ):
                yield Access(node, "model", None)
            if not isinstance(node, ast.Call) or node not in may_read:
                continue
            name = m.names.of(node.func) or ""
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in _MODEL_READERS:
                yield Access(node, "model", _path(node, 0))
            elif method in _READ_TEXTS and isinstance(node.func, ast.Attribute):
                yield Access(node, "file", node.func.value)
            elif method in _LISTING_METHODS and not name and isinstance(node.func, ast.Attribute):
                yield Access(node, "folder", node.func.value)
            elif name in _FOLDER_READERS or method == "flow_from_directory":
                yield Access(node, "folder", _path(node, 0) or argument(node, "directory"))
            elif name in _FILE_READERS or (
                self.outputs.opening.is_open(node) and self.outputs.opening.written(node) is None
            ):
                path = self.outputs.opening.path(node) or _path(node, 0)
                for one in self._paths.listed(path):
                    yield Access(node, "file", one)
                if name in _LISTERS:
                    yield Access(node, "folder", path)
            elif method == "load_weights" or (method in _RESTORING and self._keeps(node.func)):
                yield Access(node, "model", _path(node, 0))

    def _keeps(self, func: ast.expr) -> bool:
        return isinstance(func, ast.Attribute) and self.effects.output_calls.is_keeper(func.value)

    def _is_manager(self, e: ast.expr) -> bool:
        names = self.module.values.class_names(e.value) if isinstance(e, ast.Attribute) else set()
        return "tensorflow.train.CheckpointManager" in names

    # ------------------------------------------------------------------ the same file?

    def _same_file(self, write: Access, read: Access) -> bool:
        if write.path is None or read.path is None or write.family == "folder":
            return write.family != "file"
        written, wanted = self._paths.beginning(write.path), self._paths.beginning(read.path)
        as_written = ast.unparse(write.path) == ast.unparse(read.path)
        if as_written or self._paths.are_given_both(write.path, read.path) or self._is_one_of(write, read):
            return True
        if self._paths.is_kept_in(write.path, read.path):
            return True
        name, wanted_name = self._paths.name(write.path), self._paths.name(read.path)
        if write.family == "file" and name is not None and wanted_name is not None and name != wanted_name:
            return False
        if written is not None and wanted is not None and (written[:1] == KEPT) is (wanted[:1] == KEPT):
            same = may_be_same(written, wanted)
            if same or written[:1] != KEPT:
                return same
        return write.family == "model" or (name is not None and name == wanted_name)

    def _is_one_of(self, write: Access, read: Access) -> bool:
        """Whether what is written is, among several paths that are written out, one that begins as what is read does."""
        if write.path is None or read.path is None or write.family != "file":
            return False
        written, wanted = self._paths.beginnings(write.path), self._paths.beginnings(read.path)
        return len(written) > 1 and any(
            w[:1] != KEPT and r[:1] != KEPT and may_be_same(w, r) for w in written for r in wanted
        )

    def _is_in_folder(self, write: Access, read: Access) -> bool:
        """Whether a file is written into a folder that is gone through: `f"data/{i}.png"` and `listdir("data")`."""
        if write.family == "folder" or read.family != "folder" or write.path is None or read.path is None:
            return False
        written, folder = self._paths.beginning(write.path), self._paths.beginning(read.path)
        return written is not None and folder is not None and may_be_in(written, folder)

    # ------------------------------------------------------------------ order

    def _in_order(self, write: Access, read: Access) -> Iterator[ReadBack]:
        for down in self._ways(write.node):
            for up in self._ways(read.node):
                found = self._meet(down, up)
                parts = next(
                    ((w.node, r.node) for w, r in zip(down, up, strict=False) if w.node is not r.node), None
                )
                given_others = parts is not None and self._paths.are_given_others(
                    write.path, read.path, *parts
                )
                if found is not None and not given_others:
                    yield ReadBack(write, read, *found)
        if self._is_hook_of(write.node, read.node):
            place = self.module.syntax.statement(read.node)
            yield ReadBack(write, read, place, place)

    def _is_hook_of(self, write: ast.AST, read: ast.AST) -> bool:
        """Whether a callback reads in one of its hooks what it writes in another, which Keras calls before:
        `self.model.load_weights(self.path)` in `on_train_end`."""
        syntax = self.module.syntax
        writing, reading = syntax.function(write), syntax.function(read)
        owner = syntax.method_class(reading)
        bases = self.module.values.ancestors(owner) if owner is not None else set()
        if any(catalogue.callback_role(base) == "writes" for base in bases):
            return False  # on rank 0 alone
        return (
            owner is not None
            and reading is not writing
            and syntax.method_class(writing) is owner
            and isinstance(reading, FUNCTIONS)
            and reading.name in _LATE_HOOKS
            and _CALLBACK in bases
        )

    def _ways(self, node: ast.AST) -> list[list[Frame]]:
        """The ways down to a node, from the outside. Keras calls the hooks of a callback in a `fit`, Estimators the functions
        that give them their input."""
        if node not in self._known_ways:
            ways = [list(reversed(way)) for way in self.drive.ways(node)]
            self._known_ways[node] = [above + way for way in ways for above in self._above(way[0].function)]
        return self._known_ways[node]

    def _above(self, function: Function | None) -> list[list[Frame]]:
        """The ways down to the calls of Keras or of an Estimator that run a function; one of no frames where none does."""
        fed = self.effects.sites.read_estimators.fed_by(function) if function is not None else []
        if fed:
            return [list(reversed(way)) for call in fed for way in self.drive.ways(call)] or [[]]
        owner = self.module.syntax.method_class(function) if function is not None else None
        is_hook = isinstance(function, FUNCTIONS) and function.name.startswith("on_")
        if owner is None or not is_hook or _CALLBACK not in self.module.values.ancestors(owner):
            return [[]]
        fits = [f.call for f in self.effects.sites.fits if argument(f.call, "callbacks", 5) is not None]
        return [list(reversed(way)) for fit in fits for way in self.drive.ways(fit)] or [[]]

    def _meet(self, write: list[Frame], read: list[Frame]) -> tuple[ast.stmt, ast.stmt] | None:
        """(place, after), where two ways down part: None when the reading does not come after the writing."""
        if write[0].function is not read[0].function:
            return None
        for w, r in zip(write, read, strict=False):
            if w.function is not r.function:
                return None
            if w.node is not r.node:
                return self._part(w.node, r.node)
        return None

    def _part(self, w: ast.AST, r: ast.AST) -> tuple[ast.stmt, ast.stmt] | None:
        """The statements of the innermost common block that hold two nodes of one function, if the second may run after
        the first."""
        syntax = self.module.syntax
        above = {
            syntax.statement(w): None,
            **{a: None for a in syntax.ancestors(w) if isinstance(a, ast.stmt)},
        }
        place = syntax.statement(r)
        chain = [place, *(a for a in syntax.ancestors(place) if isinstance(a, ast.stmt))]
        for candidate in chain:
            block = syntax.block(candidate)
            after = next((s for s in block if s in above), None)
            if after is None:
                continue
            if after is candidate:
                break
            loops = any(isinstance(a, LOOPS) for a in syntax.loops(candidate))
            return (candidate, after) if position(after) < position(candidate) or loops else None
        return self._exclusive(w, r)

    def _exclusive(self, w: ast.AST, r: ast.AST) -> tuple[ast.stmt, ast.stmt] | None:
        """Two nodes in different arms of one statement: the reading comes after the writing in a loop around both only."""
        syntax = self.module.syntax
        for loop in syntax.loops(r):
            if syntax.inside(w, loop):
                for statement in loop.body:
                    if syntax.inside(r, statement):
                        return statement, statement
        return None


def _path(call: ast.Call, index: int) -> ast.expr | None:
    for name in _PATHS:
        value = argument(call, name)
        if value is not None:
            return value
    return argument(call, "", index)


def _may_read(module: Module, call: ast.Call) -> bool:
    """Whether a call may read a file by its name; what opens one aside."""
    name, method = module.names.of(call.func), call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in (*_READ_TEXTS, *_LISTING_METHODS, *_RESTORING, "flow_from_directory", "load_weights"):
        return True
    return name in _MODEL_READERS or name in _FOLDER_READERS or name in _FILE_READERS
