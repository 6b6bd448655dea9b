"""How a path ends, as far as that is written in the program: two that end otherwise are two files, also in one folder.

`os.path.join(BASE, "train.csv")` and `f"{BASE}/model.h5"` have the base in common, and so are made of the same; but one is
read, and the other one written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TypeAlias

from horovodize.python.module import Module

# What a path is put together of, in order: texts, and None where only the run knows. Those of a path are its forms.
Form: TypeAlias = tuple[str | None, ...]

_JOINS = ("os.path.join", "posixpath.join", "tensorflow.io.gfile.join")
_SAME_END = (
    "os.path.abspath", "os.path.expanduser", "os.path.expandvars", "os.path.normpath", "os.path.realpath", "os.fspath",
    "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "os.path.normcase",
)  # fmt: skip
_SAME_END_METHODS = ("resolve", "absolute", "expanduser", "as_posix")
_UNKNOWN: list[Form] = [(None,)]
_FIELD = re.compile(r"\{[^{}]*\}")
_PERCENT = re.compile(r"%[-+ #0-9.]*[a-zA-Z]")
_DEPTH, _MOST = 12, 12
_ADDED = (
    ".",
    "-",
    "_",
)  # what a name goes on with that is made longer where it is written: `x` → `x.npy`, `x-100.index`


class PathForms:
    """The forms of paths in one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[ast.AST, list[Form]] = {}

    def are_apart(self, read: ast.AST, written: ast.AST) -> bool:
        """Whether a file that is read is certainly none that is written at another path, nor below it. False where one of them
        ends by what only the run knows."""
        return all(_are_apart(r, w) for r in self.of(read) for w in self.of(written))

    def of(self, path: ast.AST) -> list[Form]:
        """What a path may look like."""
        if path not in self._known:
            found = self._of(path, _DEPTH) if isinstance(path, ast.expr) else _UNKNOWN
            self._known[path] = found if len(found) <= _MOST else _UNKNOWN
        return self._known[path]

    def _of(self, e: ast.expr, depth: int) -> list[Form]:
        if depth == 0:
            return _UNKNOWN
        match e:
            case ast.Constant(value=str() as text):
                return [(text,)]
            case ast.JoinedStr(values=values):
                return self._joined(
                    [v.value if isinstance(v, ast.FormattedValue) else v for v in values], depth
                )
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], depth)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right], depth, "/")
            case ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod()):
                return [_template(text, _PERCENT)]
            case ast.IfExp(body=body, orelse=orelse):
                return [*self._of(body, depth - 1), *self._of(orelse, depth - 1)]
            case ast.Call(func=func, args=args, keywords=[]) if args or isinstance(func, ast.Attribute):
                return self._of_call(e, func, args, depth)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._of_name(e, depth)
            case _:
                return _UNKNOWN

    def _of_call(self, call: ast.expr, func: ast.expr, args: Sequence[ast.expr], depth: int) -> list[Form]:
        name = self.module.names.of(func)
        if any(isinstance(a, ast.Starred) for a in args):
            return _UNKNOWN
        if name in _JOINS:
            return self._joined(args, depth, "/")
        if name in _SAME_END and args:
            return self._joined(args, depth, "/")
        if isinstance(func, ast.Name) and func.id == "str" and len(args) == 1:
            return self._of(args[0], depth - 1)
        if isinstance(func, ast.Attribute) and name is None:
            if func.attr == "joinpath":
                return self._joined([func.value, *args], depth, "/")
            if func.attr in _SAME_END_METHODS:
                return self._of(func.value, depth - 1)
        if isinstance(func, ast.Attribute) and func.attr == "format" and isinstance(func.value, ast.Constant):
            return [_template(str(func.value.value), _FIELD)]
        return self._of_name(call, depth)

    def _of_name(self, e: ast.expr, depth: int) -> list[Form]:
        """What a name, an attribute or an item of a dictionary stands for; of a call, what a function here gives."""
        found = list[Form]()
        for origin in self.module.values.origins(e):
            known = isinstance(origin.node, ast.expr) and origin.node is not e and not origin.path
            found += (
                self._of(origin.node, depth - 1) if known and isinstance(origin.node, ast.expr) else _UNKNOWN
            )
        return found

    def _joined(self, parts: Iterable[ast.expr], depth: int, between: str = "") -> list[Form]:
        forms = [self._of(p, depth - 1) for p in parts]
        if any(len(f) > _MOST for f in forms):
            return _UNKNOWN
        found = list[Form]()
        for taken in product(*forms):
            whole: list[str | None] = []
            for i, form in enumerate(taken):
                whole += [between, *form] if i and between else form
            found.append(tuple(whole))
            if len(found) > _MOST:
                return _UNKNOWN
        return found


def _template(text: str, put_in: re.Pattern[str]) -> Form:
    """`"epoch-%d.h5"`: ("epoch-", None, ".h5")"""
    found: list[str | None] = []
    for i, piece in enumerate(put_in.split(text)):
        found += [piece] if not i else [None, piece]
    return tuple(found)


def _are_apart(read: Form, written: Form) -> bool:
    names = _names(read)
    ends = [*names[-1:], *_names(written)[-1:]]
    if len(ends) < 2 or not all(name for name, _ in ends):
        return False
    name, is_whole = ends[1]
    may_be_folder = "." not in name
    if may_be_folder and any(not r for r, _ in names[1:]):
        return False
    last = len(names) - 1
    return not any(_may_be(r, whole, name, is_whole, i == last) for i, (r, whole) in enumerate(names) if r)


def _names(form: Form) -> list[tuple[str, bool]]:
    """The names in a path, each with whether it is all of it; of a name that begins or ends with what only the run knows, what
    is known of its end."""
    text = "".join("\0" if part is None else part for part in form)
    names = [n for n in re.split(r"[/\\]+", text) if n not in ("", ".")]
    return [(n.rsplit("\0", 1)[-1], "\0" not in n) for n in names]


def _may_be(read: str, read_whole: bool, written: str, written_whole: bool, is_last: bool) -> bool:
    """Whether a name in the path that is read may be the last one of what is written: itself, a folder, or that name made
    longer (also the other way round, where it `is_last`: `state.json.tmp` is renamed when it is written)."""
    if read_whole and written_whole:
        longer = any(read.startswith(written + added) for added in _ADDED)
        return read == written or longer or (is_last and written.startswith(read + "."))
    if read_whole:
        return written in read
    return written.endswith(read) or read.endswith(written) or written in read
