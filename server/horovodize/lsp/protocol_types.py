"""The protocol's 550 classes, without what attrs makes for each of them and one of all can do, or nothing here reads: a fourth
of the start, and 9 of the server's MiB.

Each class would have code of its own to be shown, compared and copied by, and a type of its own for the tuple of its fields.
The methods that are generated have globals of their own, a copy of all names of the module (so that `typing.get_type_hints`
can resolve the annotations of an `__init__`), and their source is kept for tracebacks."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs

_TYPES = "lsprotocol.types"
_GENERATED = "<attrs generated"


def load() -> None:
    """Imports the classes; one way for all to be shown, compared and copied does. Where they are there already, they stay as
    they are."""
    if _TYPES in sys.modules:
        return
    define = attrs.define
    attrs.define = partial(define, eq=False, repr=False, getstate_setstate=False)
    try:
        from lsprotocol import types
    finally:
        attrs.define = define
    for cls in _classes(types):
        if "__repr__" not in vars(cls):
            cls.__repr__ = _shown  # type: ignore[assignment]
        if "__eq__" not in vars(cls):
            cls.__eq__ = _equal  # type: ignore[assignment]
            cls.__hash__ = None  # type: ignore[assignment]


def drop_leftovers() -> None:
    """Leaves the generated methods the globals that they use, and the classes one type for their fields. This takes too long
    for the start."""
    classes = _classes(sys.modules[_TYPES])
    used: dict[int, tuple[dict[str, object], set[str]]] = {}  # by identity: methods of a class share them
    for cls in classes:
        cls.__attrs_attrs__ = _Fields(cls.__attrs_attrs__)
        for method in vars(cls).values():
            if isinstance(method, FunctionType) and method.__code__.co_filename.startswith(_GENERATED):
                names = used.setdefault(id(method.__globals__), (method.__globals__, set()))[1]
                names.update(_names(method.__code__))
    for known, names in used.values():
        kept = {name: known[name] for name in ("__builtins__", "__name__", *names) if name in known}
        known.clear()
        known.update(kept)
    for name in [name for name in linecache.cache if name.startswith(_GENERATED)]:
        del linecache.cache[name]


class _Fields(tuple["attrs.Attribute[Any]", ...]):
    """The fields of a class, which can be asked for by name, too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> attrs.Attribute[Any]:
        for field in self:
            if field.name == name:
                return field
        raise AttributeError(name)


def _classes(module: ModuleType) -> list[type[attrs.AttrsInstance]]:
    return [cls for cls in vars(module).values() if isinstance(cls, type) and "__attrs_attrs__" in vars(cls)]


def _shown(self: attrs.AttrsInstance) -> str:
    fields = (
        f"{field.name}={getattr(self, field.name)!r}" for field in attrs.fields(type(self)) if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _equal(self: attrs.AttrsInstance, other: object) -> bool:
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]
    fields = attrs.fields(type(self))
    return all(getattr(self, field.name) == getattr(other, field.name) for field in fields if field.eq)


def _names(code: CodeType) -> Iterator[str]:
    """The names that code looks up, and code inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
