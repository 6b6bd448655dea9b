"""Which calls change a database of SQLite, and the file that it's kept in.

    base = sqlite3.connect("runs.db")
    base.execute("insert into runs values (?, ?)", (epoch, loss))

What a rank writes under its own number is meant to stand beside that of the others."""

from __future__ import annotations

import ast
import re

from horovodize.facts.facts import Facts
from horovodize.python.module import Module
from horovodize.python.syntax import argument, arguments

_EXECUTING = ("execute", "executemany", "executescript")
_CHANGES = re.compile(
    r"\s*(insert|replace|update|delete|drop|alter|create(?!\s+\w*\s*table\s+if\s+not\s+exists))\b", re.I
)
_IN_MEMORY = ("", ":memory:")


def changed_database(facts: Facts, call: ast.Call) -> ast.expr | None:
    """The path of the database that a call changes; None where it changes none, or rows that are the rank's by its number."""
    module = facts.module
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _EXECUTING or not call.args:
        return None
    command = [o.node for o in module.values.origins(call.args[0]) if not o.path]
    texts = [n.value for n in command if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    if len(texts) != 1 or len(command) != 1 or not _CHANGES.match(texts[0]):
        return None
    path = _database(module, call.func.value)
    if path is None or (isinstance(path, ast.Constant) and path.value in _IN_MEMORY):
        return None
    given = [n for e in arguments(call)[1:] for n in ast.walk(e) if isinstance(n, ast.expr)]
    return None if any(map(facts.rank_tests.is_rank, given)) else path


def _database(module: Module, e: ast.expr) -> ast.expr | None:
    """The path of the database that a connection, or a cursor of one, is of."""
    made = module.values.calls(e)
    if len(made) != 1:
        return None
    if module.names.of(made[0].func) == "sqlite3.connect":
        return argument(made[0], "database", 0)
    if isinstance(made[0].func, ast.Attribute) and made[0].func.attr == "cursor":
        return _database(module, made[0].func.value)
    return None


__all__ = ["changed_database"]
