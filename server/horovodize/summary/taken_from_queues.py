"""What a loop takes from a queue of Python's, which a thread or a process fills: `rows = ready.get()`."""

from __future__ import annotations

import ast

from horovodize.python.names import Names
from horovodize.python.values import Values

_QUEUES = ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue", "JoinableQueue")


def is_taken(names: Names, values: Values, call: ast.AST) -> bool:
    """Whether a call gives the next of what is put into a queue."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr not in ("get", "get_nowait"):
        return False
    made = list(values.calls(call.func.value))
    return bool(made) and all(names.last(c.func) in _QUEUES for c in made)
