"""Answers about one version of a text that are found once: many rules ask the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_OPEN = object()  # not answered yet


def once(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method whose answers are kept with its object, and are nobody's to change; or a function, with the first object that it
    is given."""
    name = f"_once_{method.__module__}.{method.__qualname__}"

    def ask(self: S, /, *question: P.args, **named: P.kwargs) -> R:
        known: dict[Hashable, Any] | None = self.__dict__.get(name)
        if known is None:
            known = self.__dict__[name] = {}
        asked = (question, *named.items()) if named else question
        answer = known.get(asked, _OPEN)
        if answer is _OPEN:
            answer = known[asked] = method(self, *question, **named)
        return answer  # type: ignore[no-any-return]  # what the method gave; a cast would be a call

    return wraps(method)(ask)
