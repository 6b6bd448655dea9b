"""Where files are, as paths say it: which two may be the same file."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Iterator

from horovodize.python.module import Module

KEPT = "\0"  # before and after the name of a folder that isn't written out
_OF = "\1"  # in it, for a dot
_PATH_TYPES = ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "os.fspath")
_VARYING = re.compile(r"%[\d.]*[a-z]|\{.*|[*?\[].*", re.DOTALL)


class Paths:
    """The paths of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._paths: dict[ast.expr, list[str]] = {}

    def listed(self, path: ast.expr | None) -> list[ast.expr | None]:
        """The paths that an expression gives: those of a list that is written out, else itself."""
        origins = self.module.values.origins(path) if path is not None else []
        lists = [o.node for o in origins if not o.path and isinstance(o.node, (ast.List, ast.Tuple))]
        return [e for written in lists for e in written.elts] or [path]

    def are_given_both(self, path: ast.expr, other: ast.expr) -> bool:
        """Whether two places get a path that is made in one place, as functions are passed it."""
        return bool(self._made(path) & self._made(other))

    def is_kept_in(self, path: ast.expr, other: ast.expr) -> bool:
        """Whether a path is put into a list that another one is taken from: `kept.append(path)`, `np.load(kept[-1])`."""
        lists = {ast.unparse(e) for e in self._taken_from(other)}
        for call in self.module.calls_called("append", "appendleft", "heappush") if lists else ():
            if not call.args:
                continue
            func = call.func
            held = func.value if isinstance(func, ast.Attribute) and len(call.args) == 1 else call.args[0]
            if ast.unparse(held) in lists:
                parts = [n for n in ast.walk(call.args[-1]) if isinstance(n, ast.expr)]
                if any(ast.unparse(n) == ast.unparse(path) or self.are_given_both(n, path) for n in parts):
                    return True
        return False

    def _taken_from(self, path: ast.expr) -> list[ast.expr]:
        """The lists that a path is an item of."""
        while isinstance(path, ast.Subscript) and isinstance(path.value, ast.Subscript):
            path = path.value  # of a tuple in a list
        if isinstance(path, ast.Subscript):
            return [path.value]
        bound = self.module.scopes.reaching(path) if isinstance(path, ast.Name) else []
        return [b.value for b in bound if b.kind == "item" and b.value is not None]

    def are_given_others(
        self, path: ast.expr | None, other: ast.expr | None, call: ast.AST, later: ast.AST
    ) -> bool:
        """Whether of several paths that two places may get, as functions are passed them, the one gets another on the way over
        a call than the other over a later one: `convert(train_file)`, then `read(test_file)`."""
        if path is None or other is None:
            return False
        both = self._made(path) & self._made(other)
        given, told = (
            (both & self._mentioned(node) for node in (call, later)) if len(both) > 1 else (both, both)
        )
        return bool(given and told) and given.isdisjoint(told)

    def _made(self, path: ast.expr) -> set[ast.AST]:
        origins = self.module.values.origins(path)
        return {o.node for o in origins if not o.path and not isinstance(o.node, ast.Name)}

    def _mentioned(self, node: ast.AST) -> set[ast.AST]:
        """What stands in a call, and in the calls that made what it is passed by name: `train(input_fn)` of
        `input_fn = reader(path)`."""
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        made = [
            b.value for n in names for b in self.module.scopes.reaching(n) if isinstance(b.value, ast.Call)
        ]
        found = [e for around in (node, *made) for e in ast.walk(around) if isinstance(e, ast.expr)]
        return {o.node for e in found for o in self.module.values.origins(e) if not o.path}

    def name(self, path: ast.expr) -> str | None:
        """The name of a file, `train.h5` of `os.path.join(folder, "train.h5")`, where it is written out as a whole."""
        for origin in self.module.values.origins(path):
            node: ast.AST | None = origin.node if not origin.path else None
            is_added = False  # the name may begin in what is before
            while node is not None and not isinstance(node, ast.Constant):
                match node:
                    case ast.BinOp(op=ast.Add(), right=last) | ast.JoinedStr(values=[*_, last]):
                        node, is_added = last, True
                    case (
                        ast.BinOp(op=ast.Div(), right=last)
                        | ast.Call(func=ast.Attribute(attr="join"), args=[*_, last])
                    ):
                        node, is_added = last, False
                    case _:
                        node = None
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            name = os.path.basename(text)
            if all(os.path.splitext(name)) and not _VARYING.search(name) and ("/" in text or not is_added):
                return name
        return None

    def beginning(self, path: ast.expr) -> str | None:
        """How a path begins where that is written out; of several that it may be, the first."""
        return next(iter(self.beginnings(path)), None)

    def beginnings(self, path: ast.expr) -> list[str]:
        """How each path begins that an expression may be, as functions are passed it, where that is written out."""
        if path not in self._paths:
            found = dict.fromkeys(self._starts(path))
            self._paths[path] = [start for start in found if _head(start)]
        return self._paths[path]

    def _starts(self, path: ast.expr, depth: int = 6) -> Iterator[str]:
        """How a path begins, as far as it is written out: what varies is put as `{`; a folder that isn't, as it is called,
        after a mark. Nothing of one that varies from the start."""
        for origin in self.module.values.origins(path):
            if origin.path or not isinstance(origin.node, ast.expr) or not depth:
                continue
            match origin.node:
                case ast.Constant(value=str() as text):
                    yield text
                case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
                    yield text + "{"
                case ast.JoinedStr(
                    values=[ast.FormattedValue(value=folder), ast.Constant(value=str() as text), *_]
                ) if text.startswith("/"):
                    yield from (f"{start}{text}{{" for start in self._starts(folder, depth - 1))
                case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str() as text))):
                    yield text
                case ast.BinOp(op=ast.Add() | ast.Mod(), left=left):
                    yield from (start + "{" for start in self._starts(left, depth - 1))
                case ast.Call(func=func, args=[given]) if self._is_path(func):
                    yield from self._starts(given, depth - 1)
                case (
                    ast.BinOp(op=ast.Div(), left=left, right=right)
                    | ast.Call(func=ast.Attribute(attr="join"), args=[left, right, *_])
                    | ast.Call(func=ast.Attribute(attr="joinpath", value=left), args=[right, *_])
                ):
                    end = next(self._starts(right, depth - 1), "{")
                    yield from (f"{start}/{end}" for start in self._starts(left, depth - 1))
                case ast.Name() | ast.Attribute():
                    called = ast.unparse(origin.node).replace(".", _OF)  # `args.train` has no suffix
                    yield KEPT + called + KEPT

    def _is_path(self, func: ast.expr) -> bool:
        """`str`, `pathlib.Path`: what they give is the path that they are given."""
        if self.module.scopes.is_builtin(func):
            return self.module.names.last(func) == "str"
        return (self.module.names.of(func) or "") in _PATH_TYPES


def may_be_same(written: str, wanted: str) -> bool:
    """Whether two paths may be the same file, up to what libraries add to names: a suffix, a number, a file in a folder."""
    a, b = (os.path.splitext(_head(p))[0] for p in (written, wanted))
    return a.startswith(b) or b.startswith(a)


def may_be_in(written: str, folder: str) -> bool:
    """Whether a file may be in a folder, or among those that a pattern finds: `out/*.h5`."""
    a, b = _head(written), _head(folder)
    if a != os.path.normpath(written) and b.startswith(a):
        return True
    if b != os.path.normpath(folder):
        return a.startswith(b)
    return a == b or a.startswith(b.rstrip("/") + "/") or (b == "." and not os.path.isabs(a))


def _head(path: str) -> str:
    """What of a path stands before its first part that varies: nothing of `./{}/train.png`."""
    return re.split(_VARYING, os.path.normpath(path))[0]
