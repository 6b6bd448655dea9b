"""What of imported modules a script can run: the rest is left out before a project is read.

A module that a script imports often trains by itself, too (`if __name__ == "__main__":`), or holds functions that the script
never names. Going by names keeps too much rather than too little: whatever is called like something that reachable code
mentions stays, and all of it where names are made while the script runs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.summary.syntax import FUNCTIONS

# Calls and attributes that reach anything by a name that is made while the code runs.
_CALLED = {"globals", "locals", "eval", "exec", "__import__", "import_module"}
_ATTRIBUTES = {"__dict__", "__subclasses__", "import_module", "getmembers", "modules"}
# Decorators that hand a function to nobody who might call it.
_KEEPING = {"function", "contextmanager", "lru_cache", "cache", "wraps", "dataclass", "jit", "njit"}


def prune(imported: Sequence[ast.Module], script: ast.Module) -> set[str]:
    """Takes out of imported modules what is not run when they are imported, and not named by anything that is. Returns the
    names in what it takes out, which must not be given to anything else."""
    left_out = set[str]()
    imports = {
        (alias.asname or alias.name).split(".", maxsplit=1)[0]
        for tree in (*imported, script)
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for alias in n.names
    }
    for tree in imported:
        for statement in [s for s in tree.body if _is_main_guard(s)]:
            tree.body.remove(statement)
            left_out |= _identifiers(statement)
    named, any_name = _names(script, imports)
    waiting = [(tree, s) for tree in imported for s in tree.body if isinstance(s, (*FUNCTIONS, ast.ClassDef))]
    for tree in imported:
        for statement in tree.body:
            if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                more, by_made_names = _names(statement, imports)
                named |= more
                any_name |= by_made_names
    found = True
    while found and not any_name:
        reached = [(tree, s) for tree, s in waiting if s.name in named or _is_registered(s)]
        found = bool(reached)
        waiting = [pair for pair in waiting if pair not in reached]
        for _, statement in reached:
            more, by_made_names = _names(statement, imports)
            named |= more
            any_name |= by_made_names
    if not any_name:
        for tree, statement in waiting:
            tree.body.remove(statement)
            left_out |= _identifiers(statement)
    return left_out


def _names(root: ast.AST, imports: set[str]) -> tuple[set[str], bool]:
    """The names that code mentions, and whether it reaches what modules hold by names that it makes while it runs."""
    found, made = set[str](), False
    for n in ast.walk(root):
        if isinstance(n, ast.Name):
            found.add(n.id)
        elif isinstance(n, ast.Attribute):
            found.add(n.attr)
            made |= n.attr in _ATTRIBUTES
        elif isinstance(n, ast.alias):
            found.add(n.name.rsplit(".", 1)[-1])
        elif isinstance(n, ast.Constant) and isinstance(n.value, str):
            found.add(n.value)  # getattr(models, "Net")
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            made |= n.func.id in _CALLED or (
                n.func.id in ("getattr", "vars") and _looks_into_module(n, imports)
            )
    return found, made


def _looks_into_module(call: ast.Call, imports: set[str]) -> bool:
    """Whether `getattr(nets, name)` or `vars(nets)` may be about a module, under a name that is not in the text."""
    if len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        return False
    return not call.args or not isinstance(call.args[0], ast.Name) or call.args[0].id in imports


def _identifiers(root: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(root) if isinstance(n, ast.Name)} | {
        n.name for n in ast.walk(root) if isinstance(n, (*FUNCTIONS, ast.ClassDef))
    }


def _is_registered(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator may have put a function or class where others find it without its name."""
    for decorator in statement.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
        if name not in _KEEPING:
            return True
    return False


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(statement.test)
    )
