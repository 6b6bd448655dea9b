"""What attrs keeps of how it made the protocol's classes, and nothing here reads: 6 of the server's 70 MiB.

Each class's generated methods have globals of their own, a copy of all names of the module (so that `typing.get_type_hints` can
resolve the annotations of an `__init__`), and their source is kept for tracebacks."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType

_GENERATED = "<attrs generated"


def drop(module: object) -> None:
    """Leaves the generated methods of a module's classes the globals that they use."""
    used: dict[int, tuple[dict[str, object], set[str]]] = {}  # by identity: methods of a class share them
    for cls in vars(module).values():
        for method in vars(cls).values() if isinstance(cls, type) else ():
            if isinstance(method, FunctionType) and method.__code__.co_filename.startswith(_GENERATED):
                names = used.setdefault(id(method.__globals__), (method.__globals__, set()))[1]
                names.update(_names(method.__code__))
    for known, names in used.values():
        kept = {name: known[name] for name in ("__builtins__", "__name__", *names) if name in known}
        known.clear()
        known.update(kept)
    for name in [name for name in linecache.cache if name.startswith(_GENERATED)]:
        del linecache.cache[name]


def _names(code: CodeType) -> Iterator[str]:
    """The names that code looks up, and code inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
