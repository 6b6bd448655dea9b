"""The folders that a script adds to where Python looks for modules: `sys.path.append("../utils")`, `sys.path.insert(0,
os.path.join(os.path.dirname(__file__), ".."))`.

What is written relative to the current folder is taken to be relative to the script's: that is where such scripts are run."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

from horovodize.source import Document
from horovodize.source.nodes import walk

_SAME = (
    "abspath",
    "realpath",
    "normpath",
    "expanduser",
    "fspath",
    "str",
    "Path",
    "PurePath",
    "resolve",
    "absolute",
    "as_posix",
)
_ADDED = {"append": 0, "insert": 1, "extend": 0}  # where they are given folders
_DEPTH = 12


def added(script: Document, path: str) -> list[str]:
    """Those that can be told, in the order of the text. `path`: where the script is, with "/" between folders."""
    if "sys.path" not in script.text or script.tree is None:
        return []
    reader = _Reader(script.tree, path)
    found = (reader.path(e) for e in _given(script.tree))
    return list(dict.fromkeys(posixpath.normpath(folder) for folder in found if folder))


def _given(tree: ast.Module) -> Iterator[ast.expr]:
    """What `sys.path` is given to hold."""
    for node in walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    attr="append" | "insert" | "extend" as how,
                    value=ast.Attribute(attr="path", value=ast.Name(id="sys")),
                ),
                args=args,
            ) if len(args) > _ADDED[how]:
                given = args[_ADDED[how]]
                yield from given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Those of the module, and of its `try`s: what is done where nothing fails."""
    for statement in tree.body:
        yield from statement.body if isinstance(statement, ast.Try) else [statement]


class _Reader:
    """Works out paths that are made of constants and of where the script is."""

    def __init__(self, tree: ast.Module, script: str) -> None:
        self._script, self._folder = script, posixpath.dirname(script)
        self._named = {
            target.id: s.value
            for s in reversed(list(_statements(tree)))
            if isinstance(s, ast.Assign)
            for target in s.targets
            if isinstance(target, ast.Name)
        }

    def path(self, e: ast.expr) -> str | None:
        """A path that an expression gives; None where that can't be told."""
        found = self._read(e, _DEPTH)
        return posixpath.join(self._folder, found) if found is not None else None

    def _read(self, e: ast.expr, depth: int) -> str | None:
        if not depth:
            return None
        match e:
            case ast.Constant(value=str() as text):
                return text.replace("\\", "/")
            case ast.Name(id="__file__"):
                return self._script
            case ast.Subscript(
                value=ast.Attribute(attr="argv", value=ast.Name(id="sys")), slice=ast.Constant(value=0)
            ):
                return self._script
            case ast.Name(id=name) if name in self._named:
                return self._read(self._named[name], depth - 1)
            case ast.Attribute(attr="parent", value=of):
                return self._above(of, 1, depth)
            case ast.Attribute(attr="curdir" | "pardir" as name):
                return "." if name == "curdir" else ".."
            case ast.Subscript(
                value=ast.Attribute(attr="parents", value=of), slice=ast.Constant(value=int() as n)
            ):
                return self._above(of, n + 1, depth)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right], depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self._read(part, depth - 1) for part in (left, right)]
                return None if None in parts else "".join(part for part in parts if part)
            case ast.Call(func=func, args=args):
                return self._called(func, args, depth)
        return None

    def _called(self, func: ast.expr, args: list[ast.expr], depth: int) -> str | None:
        last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if last in ("getcwd", "cwd"):
            return self._folder
        if last in ("join", "joinpath") and isinstance(func, ast.Attribute):
            return self._joined([*([func.value] if last == "joinpath" else []), *args], depth)
        if last == "dirname" and len(args) == 1:
            return self._above(args[0], 1, depth)
        if last in _SAME and len(args) == 1:
            return self._read(args[0], depth - 1)
        if last in _SAME and isinstance(func, ast.Attribute) and not args:
            return self._read(func.value, depth - 1)
        return None

    def _above(self, e: ast.expr, levels: int, depth: int) -> str | None:
        found = self._read(e, depth - 1)
        if found is None:
            return None
        found = posixpath.normpath(posixpath.join(self._folder, found))
        for _ in range(levels):
            found = posixpath.dirname(found)
        return found

    def _joined(self, parts: list[ast.expr], depth: int) -> str | None:
        found = [self._read(part, depth - 1) for part in parts]
        told = [part for part in found if part is not None]
        return posixpath.join(*told) if told and len(told) == len(found) else None


__all__ = ["added"]
