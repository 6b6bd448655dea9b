"""What is written into memory, or into a temporary file: each process has a buffer of its own, and reads it itself."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import arguments

_BUFFERS = ("BytesIO", "StringIO")
_TEMPORARY = ("tempfile.TemporaryFile", "tempfile.NamedTemporaryFile", "tempfile.SpooledTemporaryFile")
# What writes on into the file that it is given.
CSV_WRITERS = ("csv.writer", "csv.DictWriter")
_WRAPPERS = (
    *CSV_WRITERS, "io.TextIOWrapper", "io.BufferedWriter", "gzip.GzipFile", "gzip.open",
    "bz2.BZ2File", "lzma.LZMAFile", "zipfile.ZipFile", "tarfile.open", "h5py.File", "pandas.ExcelWriter",
)  # fmt: skip
_DEPTH = 3  # a csv writer on a text wrapper on a buffer


def goes_to_buffer(module: Module, call: ast.Call) -> bool:
    """Whether all that a call writes surely goes into a buffer: one that it is given, or is a method of."""
    given = arguments(call)
    if isinstance(call.func, ast.Attribute):
        given.append(call.func.value)
    return any(is_buffer(module, e) for e in given)


def is_buffer(module: Module, e: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression surely is a buffer in memory or a temporary file, or writes into one."""
    if not isinstance(e, (ast.Name, ast.Attribute, ast.Call)):
        return False
    origins = module.values.origins(e)
    return all(not o.path and o.call is not None and _makes_buffer(module, o.call, depth) for o in origins)


def _makes_buffer(module: Module, call: ast.Call, depth: int) -> bool:
    if module.values.callee(call) is not None:
        return False
    if module.names.last(call.func) in _BUFFERS or module.names.of(call.func) in _TEMPORARY:
        return True
    if module.names.of(call.func) not in _WRAPPERS or not depth:
        return False
    return any(is_buffer(module, e, depth - 1) for e in arguments(call))
