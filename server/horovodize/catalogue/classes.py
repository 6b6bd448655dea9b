"""Classes, functions and methods: what they derive from and what they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from .data import load
from .names import canonical
from .signatures import Literal, parse


@dataclass(frozen=True, slots=True)
class TensorFlowFunction:
    """A function or method. ``parameters`` are in order, without ``self`` (or ``cls``), ``*args`` and ``**kwargs``;
    the first ``positional`` of them may be given by position. ``defaults`` holds the literal ones."""

    name: str
    parameters: tuple[str, ...]
    defaults: Mapping[str, Literal]
    positional: int

    def position(self, parameter: str) -> int | None:
        """Where ``parameter`` stands by position, from 0; None if it has to be named or is unknown."""
        return _position(self.parameters, self.positional, parameter)


@dataclass(frozen=True, slots=True)
class TensorFlowClass:
    """A class by canonical names. ``bases`` are the nearest catalogued classes above it, ``ancestors`` all of
    them, nearest first. ``parameters``, ``defaults`` and ``positional`` are those of ``__init__``, as in
    :class:`TensorFlowFunction`; Keras layers other than the normalising ones are known by their bases only."""

    name: str
    bases: tuple[str, ...]
    ancestors: tuple[str, ...]
    parameters: tuple[str, ...]
    defaults: Mapping[str, Literal]
    positional: int

    def position(self, parameter: str) -> int | None:
        """Where ``parameter`` stands by position, from 0; None if it has to be named or is unknown."""
        return _position(self.parameters, self.positional, parameter)


def _position(parameters: tuple[str, ...], positional: int, parameter: str) -> int | None:
    return parameters.index(parameter) if parameter in parameters[:positional] else None


@lru_cache(maxsize=2048)
def cls(name: str) -> TensorFlowClass | None:
    """The class called ``name`` (any spelling), or None."""
    classes = load().classes
    name = name if name in classes else canonical(name)
    entry = classes.get(name)
    if entry is None:
        return None
    signature = parse(entry.get("init", ""))
    return TensorFlowClass(
        name=name,
        bases=tuple(entry["bases"]),
        ancestors=_ancestors(name),
        parameters=signature.parameters,
        defaults=signature.defaults,
        positional=signature.positional,
    )


@lru_cache(maxsize=2048)
def _ancestors(name: str) -> tuple[str, ...]:
    """Every catalogued class above ``name``, nearest first."""
    classes = load().classes
    found: list[str] = []
    level = [name]
    while level:
        level = [
            base for one in level if one in classes for base in classes[one]["bases"] if base not in found
        ]
        found += dict.fromkeys(level)
    return tuple(found)


def is_a(name: str, ancestor: str) -> bool:
    """Whether the class ``name`` is ``ancestor`` or derives from it; False for an unknown class."""
    classes = load().classes
    if name not in classes:
        name = canonical(name)
        if name not in classes:
            return False
    if ancestor not in classes:
        ancestor = canonical(ancestor)
    return name == ancestor or ancestor in _ancestors(name)


@lru_cache(maxsize=2048)
def function(name: str) -> TensorFlowFunction | None:
    """The function called ``name`` (any spelling), or None."""
    functions = load().functions
    name = name if name in functions else canonical(name)
    written = functions.get(name)
    if written is None:
        return None
    if written.startswith("="):
        written = functions[f"{name.rpartition('.')[0]}.{written[1:]}"]
    return _function(name, written)


@lru_cache(maxsize=2048)
def method(class_name: str, method_name: str) -> TensorFlowFunction | None:
    """The method ``method_name`` that an instance of ``class_name`` has, its own or inherited, or None."""
    classes = load().classes
    start = class_name if class_name in classes else canonical(class_name)
    if start not in classes:
        return None
    for owner in (start, *_ancestors(start)):
        written = classes[owner].get("methods", {}).get(method_name) if owner in classes else None
        if written is not None:
            return _function(f"{owner}.{method_name}", written)
    return None


def _function(name: str, written: str) -> TensorFlowFunction:
    signature = parse(written)
    return TensorFlowFunction(name, signature.parameters, signature.defaults, signature.positional)
