"""What of imported modules a script can run: the rest is left out before a project is read.

A module that a script imports often trains by itself, too (`if __name__ == "__main__":`), or holds functions that the script
never names. Going by names keeps too much rather than too little: whatever is called like something that reachable code
mentions stays.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.summary.syntax import FUNCTIONS


def prune(imported: Sequence[ast.Module], script: ast.Module) -> None:
    """Takes out of imported modules what is not run when they are imported, and not named by anything that is."""
    for tree in imported:
        tree.body = [s for s in tree.body if not _is_main_guard(s)]
    named = _names(script)
    waiting = [(tree, s) for tree in imported for s in tree.body if isinstance(s, (*FUNCTIONS, ast.ClassDef))]
    for tree in imported:
        for statement in tree.body:
            if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                named |= _names(statement)
    found = True
    while found:
        reached = [(tree, s) for tree, s in waiting if s.name in named]
        found = bool(reached)
        waiting = [pair for pair in waiting if pair not in reached]
        for _, statement in reached:
            named |= _names(statement)
    for tree, statement in waiting:
        tree.body.remove(statement)


def _names(root: ast.AST) -> set[str]:
    found: set[str] = set()
    for n in ast.walk(root):
        if isinstance(n, ast.Name):
            found.add(n.id)
        elif isinstance(n, ast.Attribute):
            found.add(n.attr)
        elif isinstance(n, ast.alias):
            found.add(n.name.rsplit(".", 1)[-1])
        elif isinstance(n, ast.Constant) and isinstance(n.value, str):
            found.add(n.value)  # getattr(models, "Net")
    return found


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(statement.test)
    )
