"""Calls that open a file: which one, and whether they write it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from horovodize.python.buffers import CSV_WRITERS, is_buffer
from horovodize.python.module import Module
from horovodize.python.opening_functions import opening_functions
from horovodize.python.syntax import argument
from horovodize.python.tables import in_order

_PATH_OPEN = (
    "pathlib.Path.open"  # `(folder / "log.txt").open("w")`: by its mode, as anything may be called `open`
)
# Where the mode stands among the arguments: each reads, or writes, as it says.
_MODES = {
    _PATH_OPEN: 0, "open": 1, "io.open": 1, "codecs.open": 1, "gzip.open": 1, "bz2.open": 1, "lzma.open": 1,
    "tensorflow.io.gfile.GFile": 1, "tensorflow.compat.v1.gfile.GFile": 1, "tensorflow.compat.v1.gfile.Open": 1,
    "tensorflow.compat.v1.gfile.FastGFile": 1, "tarfile.open": 1, "zipfile.ZipFile": 1, "h5py.File": 1, "bz2.BZ2File": 1,
    "gzip.GzipFile": 1, "netCDF4.Dataset": 1,
    "wave.open": 1, "zarr.open": 1, "numpy.memmap": 2, "numpy.lib.format.open_memmap": 1,
}  # fmt: skip
# Map a file that is there, unless they are told to make it: who leaves their mode out, "r+", mostly reads.
_MAPPING = ("numpy.memmap", "numpy.lib.format.open_memmap")
_ALWAYS_WRITE = {
    "tensorflow.io.TFRecordWriter", "tensorflow.data.experimental.TFRecordWriter",
    "tensorflow.compat.v1.python_io.TFRecordWriter", "pandas.ExcelWriter",
    "logging.FileHandler", "logging.handlers.RotatingFileHandler", "cv2.VideoWriter", "imageio.get_writer",
}  # fmt: skip
# A file of tables: written where the program's statements write. Its name in memory is ":memory:".
DATABASE = "sqlite3.connect"
# Stores of items, which are opened to read and to write unless they are told otherwise: by which argument, where it stands.
STORES = {
    "shelve.open": ("flag", 1),
    "dbm.open": ("flag", 1),
    "pandas.HDFStore": ("mode", 1),
    "lmdb.open": ("readonly", None),
}
_PUTTING = ("put", "append", "update", "setdefault", "pop", "clear", "append_to_multiple", "sync")
_GETTING = ("get", "items", "values", "keys", "select")
_STATEMENTS = ("execute", "executemany", "executescript")
_SQL_WRITES = re.compile(r"\b(insert|create|update|delete|replace|drop|alter)\b", re.I)
_SQL_READS = re.compile(r"\bselect\b", re.I)
_TABLE_READERS = ("pandas.read_sql", "pandas.read_sql_query", "pandas.read_sql_table")
_MODE = re.compile(r"^[rwax][bt+]{0,2}$")
_WRITES = set("wax+")
_MAKES = set("w")


class Opening:
    """The opened files of one module. calls: those that open one, whatever for."""

    def __init__(self, module: Module) -> None:
        self.module = module
        opened = module.calls_which(_opened_as)
        told = {c: (self._path_given(c), _mode_given(module, c)) for c in opened}
        self._by_function = {c: f for f in opening_functions(module, told) for c in f.calls(module)}
        inside = {f.function for f in self._by_function.values()}
        own = [c for c in opened if module.syntax.function(c) not in inside]
        self.calls = in_order([*own, *self._by_function])
        self._all = frozenset(own)

    def is_open(self, call: ast.Call) -> bool:
        """Whether a call opens a file, whatever for."""
        return call in self._by_function or self._name(call) is not None

    def path(self, call: ast.Call) -> ast.expr | None:
        """The path of a file that a call opens, whatever for."""
        by = self._by_function.get(call)
        return argument(call, *by.path) if by is not None else self._path_given(call)

    def is_by_function(self, call: ast.Call) -> bool:
        """Whether a function of the program opens the file for a call."""
        return call in self._by_function

    def _path_given(self, call: ast.Call) -> ast.expr | None:
        if _opened_as(self.module, call) == _PATH_OPEN and isinstance(call.func, ast.Attribute):
            return call.func.value
        found = (argument(call, p, 0) for p in ("file", "filename", "name", "path", "database", "store"))
        return next((path for path in found if path is not None), None)

    def written(self, call: ast.Call) -> ast.expr | None:
        """The path of a file that a call opens for writing; None when it does not, or writes into a buffer."""
        by = self._by_function.get(call)
        if by is not None:
            return self.path(call) if self._writes(by.mode_given(call), _WRITES) else None
        name = self._name(call)
        if name is None:
            return None
        path = self.path(call)
        if path is not None and is_buffer(self.module, path):
            return None
        if name == DATABASE:
            return path if self._writes_tables() else None
        if name in STORES:
            return path if _WRITES & set(self._mode_of_store(name, call)) else None
        if name in _ALWAYS_WRITE:
            return path
        marks = _MAKES if name in _MAPPING else _WRITES
        return path if self._writes(argument(call, "mode", _MODES[name]), marks) else None

    def is_opened_here(self, e: ast.expr, early: Collection[ast.AST] = ()) -> bool:
        """Whether an expression surely is a file that a call of this module opens for writing, or a csv writer on one: what
        ranks write is settled there. Not where that runs `early`, while no rank is known."""
        made = (
            [b.value for b in self.module.values.bindings(e)]
            if isinstance(e, (ast.Name, ast.Attribute))
            else [e]
        )
        if made and all(isinstance(c, ast.Call) and c in self._by_function for c in made):
            return all(isinstance(c, ast.Call) and self._opens(c, early) for c in made)
        origins = self.module.values.origins(e)
        return all(not o.path and o.call is not None and self._opens(o.call, early) for o in origins)

    def _opens(self, call: ast.Call, early: Collection[ast.AST]) -> bool:
        syntax = self.module.syntax
        if call not in syntax.parent or (syntax.function(call) or syntax.statement(call)) in early:
            return False
        if self.module.names.of(call.func) in CSV_WRITERS:
            file = argument(call, "csvfile", 0) or argument(call, "f", 0)
            return isinstance(file, ast.Name | ast.Attribute | ast.Call) and self.is_opened_here(file, early)
        return self.written(call) is not None

    def mode(self, call: ast.Call) -> str | None:
        """The letters of the mode in which a call opens a file: "r", "wb"; None where they can't be seen."""
        by = self._by_function.get(call)
        if by is not None:
            return self._letters(by.mode_given(call))
        name = self._name(call)
        if name is None:
            return None
        if name == DATABASE:
            return "a+" if self.reads_tables() else "a"
        if name in STORES:
            return self._mode_of_store(name, call)
        if name in _ALWAYS_WRITE:
            return "a" if name.startswith("logging.") else "w"
        mode = argument(call, "mode", _MODES[name])
        if mode is None:
            return "r+" if name in _MAPPING else "r"
        return self._letters(mode)

    def _letters(self, mode: ast.expr | None) -> str | None:
        if mode is None:
            return None
        found = [mode, *(o.node for o in self.module.values.origins(mode))]
        texts = {str(n.value) for n in found if isinstance(n, ast.Constant)}
        return texts.pop() if len(texts) == 1 else None

    def _mode_of_store(self, name: str, call: ast.Call) -> str:
        """How a store is opened: as it is told, else by what the program does with it."""
        parameter, place = STORES[name]
        told = argument(call, parameter, place)
        said = told.value if isinstance(told, ast.Constant) else None
        if said in ("r", True):
            return "r"
        if said in ("n", "w") and (said == "n" or name == "pandas.HDFStore"):
            return "w"
        uses = [u for u in self.module.syntax.every(ast.Subscript, ast.Call) if self._is_of(u, call)]
        puts = any(
            isinstance(u.ctx, (ast.Store, ast.Del)) if isinstance(u, ast.Subscript) else _puts(u)
            for u in uses
        )
        gets = any(isinstance(u.ctx, ast.Load) if isinstance(u, ast.Subscript) else _gets(u) for u in uses)
        return ("a+" if gets else "a") if puts else "r"

    def _is_of(self, use: ast.AST, call: ast.Call) -> bool:
        """Whether an item or a method is of what a call opens."""
        of = use.func if isinstance(use, ast.Call) else use
        e = of.value if isinstance(of, (ast.Subscript, ast.Attribute)) else None
        return isinstance(e, (ast.Name, ast.Attribute)) and call in self.module.values.calls(e)

    def _writes_tables(self) -> bool:
        return any(_SQL_WRITES.search(text) for text in self._sql()) or bool(
            self.module.calls_called("to_sql")
        )

    def reads_tables(self) -> bool:
        """Whether the program reads its databases, which other ranks' of memory don't hold."""
        return any(_SQL_READS.search(text) for text in self._sql()) or bool(
            self.module.calls_of(*_TABLE_READERS)
        )

    def _sql(self) -> Iterator[str]:
        """The statements that the program gives databases, as far as they are written out."""
        for call in self.module.calls_called(*_STATEMENTS):
            for e in call.args[:1]:
                yield ast.unparse(e)
                yield from (ast.unparse(o.node) for o in self.module.values.origins(e))

    def _writes(self, mode: ast.expr | None, marks: set[str]) -> bool:
        if mode is None:
            return False
        values = [mode, *(o.node for o in self.module.values.origins(mode))]
        texts = [v.value for v in values if isinstance(v, ast.Constant)]
        return any(isinstance(text, (str, bytes)) and bool(set(str(text)) & marks) for text in texts)

    def _name(self, call: ast.Call) -> str | None:
        return _opened_as(self.module, call) if call in self._all else None


def _mode_given(module: Module, call: ast.Call) -> ast.expr | None:
    name = _opened_as(module, call)
    return argument(call, "mode", _MODES[name]) if name in _MODES else None


def _opened_as(module: Module, call: ast.Call) -> str | None:
    """What a call that opens a file is called; None of another call."""
    if isinstance(call.func, ast.Name) and _is_builtin_open(module, call.func):
        return "open"
    name = module.names.of(call.func)
    if name in _MODES or name in _ALWAYS_WRITE or name in STORES or name == DATABASE:
        return name
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open":
        mode = argument(call, "mode", _MODES[_PATH_OPEN])
        said = isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _MODE.match(mode.value)
        return _PATH_OPEN if said else None
    return None


def _is_builtin_open(module: Module, name: ast.Name) -> bool:
    """`open`, also under a name that it is given: `write_to = open`."""
    bound = module.scopes.reaching(name)
    given = [b.value for b in bound if b.kind == "assign" and not b.path]
    if len(given) < len(bound):
        return False
    meant = given if bound else [name]
    return all(isinstance(e, ast.Name) and e.id == "open" and not module.scopes.reaching(e) for e in meant)


def _puts(call: ast.Call) -> bool:
    write = argument(call, "write")
    return isinstance(call.func, ast.Attribute) and (
        call.func.attr in _PUTTING or (isinstance(write, ast.Constant) and write.value is True)
    )


def _gets(call: ast.Call) -> bool:
    begins = isinstance(call.func, ast.Attribute) and call.func.attr == "begin"
    return isinstance(call.func, ast.Attribute) and (
        call.func.attr in _GETTING or (begins and argument(call, "write") is None)
    )
