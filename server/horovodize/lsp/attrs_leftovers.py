"""What attrs makes for each of the protocol's 550 classes and one of all can do, or nothing here reads: 9 of the server's MiB.

Each class's generated methods have globals of their own, a copy of all names of the module (so that `typing.get_type_hints` can
resolve the annotations of an `__init__`), and their source is kept for tracebacks. Each class has a type of its own for the
tuple of its fields, and its own code to be shown and compared by."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import attrs

_GENERATED = "<attrs generated"


class _Fields(tuple["attrs.Attribute[Any]", ...]):
    """The fields of a class, which can be asked for by name, too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> attrs.Attribute[Any]:
        for field in self:
            if field.name == name:
                return field
        raise AttributeError(name)


def drop(module: object) -> None:
    """Leaves a module's classes one way for all to be shown and compared, and the generated methods that are left the globals
    that they use."""
    classes = [
        cls for cls in vars(module).values() if isinstance(cls, type) and "__attrs_attrs__" in vars(cls)
    ]
    for cls in classes:
        _share(cls)
    used: dict[int, tuple[dict[str, object], set[str]]] = {}  # by identity: methods of a class share them
    for cls in classes:
        for method in vars(cls).values():
            if _is_generated(method):
                names = used.setdefault(id(method.__globals__), (method.__globals__, set()))[1]
                names.update(_names(method.__code__))
    for known, names in used.values():
        kept = {name: known[name] for name in ("__builtins__", "__name__", *names) if name in known}
        known.clear()
        known.update(kept)
    for name in [name for name in linecache.cache if name.startswith(_GENERATED)]:
        del linecache.cache[name]


def _share(cls: type[attrs.AttrsInstance]) -> None:
    """Puts what all classes share in the place of what one has of its own."""
    cls.__attrs_attrs__ = _Fields(cls.__attrs_attrs__)
    if _is_generated(vars(cls).get("__repr__")):
        cls.__repr__ = _shown  # type: ignore[assignment]
    if _is_generated(vars(cls).get("__eq__")):
        cls.__eq__ = _equal  # type: ignore[assignment]


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


def _is_generated(method: object) -> bool:
    return isinstance(method, FunctionType) and method.__code__.co_filename.startswith(_GENERATED)


def _names(code: CodeType) -> Iterator[str]:
    """The names that code looks up, and code inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
