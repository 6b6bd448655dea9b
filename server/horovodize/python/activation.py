"""One run of a function's body, and what an expression may be there (`activations.py`)."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


@dataclass(frozen=True, eq=False)
class Activation:
    """One run of a function's body (None: the module's).

    call     what runs it, in `outer`; None where that isn't known
    closure  the activation in which the function was defined
    of       the object whose method it is
    held     the `functools.partial(…)` through which it is called, the outermost first"""

    function: ast.AST | None
    call: ast.Call | None = None
    outer: Activation | None = None
    closure: Activation | None = None
    of: Value | None = None
    held: tuple[Value, ...] = ()


class Value(NamedTuple):
    """A constant, function, class, object (`cls`: of which class), written list, or a name that is defined elsewhere.

    of: the object, of a method"""

    node: ast.AST
    within: Activation
    cls: ast.ClassDef | None = None
    of: Value | None = None


class Target(NamedTuple):
    """What calling a value runs."""

    function: ast.AST
    closure: Activation | None
    of: Value | None = None
    held: tuple[Value, ...] = ()


Values: TypeAlias = list[Value] | None  # all that it may be; None: something that isn't seen


class Unseen(Exception):
    """What something is isn't seen."""


__all__ = ["Activation", "Target", "Unseen", "Value", "Values"]
