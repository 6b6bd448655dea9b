"""Parameters of functions, methods and classes, as the data writes them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

Literal = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Signature:
    """``parameters`` in order, without ``self``, ``*args`` and ``**kwargs``; the first ``positional`` of them can be
    given by position. ``defaults`` has those that are a number, a string, a bool or None."""

    parameters: tuple[str, ...]
    positional: int
    defaults: Mapping[str, Literal]


@lru_cache(maxsize=1024)
def parse(written: str) -> Signature:
    """Reads parameters written as in a ``lambda``."""
    tree = ast.parse(f"lambda {written}: 0", mode="eval").body
    assert isinstance(tree, ast.Lambda)
    arguments = tree.args
    positional = [*arguments.posonlyargs, *arguments.args]
    keyword_only = arguments.kwonlyargs
    given = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    defaults: dict[str, Literal] = {}
    for one, default in zip([*positional, *keyword_only], [*given, *arguments.kw_defaults], strict=True):
        if default is not None:
            value = ast.literal_eval(default)
            if value is not ...:
                defaults[one.arg] = value
    names = tuple(one.arg for one in [*positional, *keyword_only])
    return Signature(names, len(positional), MappingProxyType(defaults))
