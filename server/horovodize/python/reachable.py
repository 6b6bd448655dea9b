"""What of imported modules a script can run: the rest is left out before a project is read.

A module that a script imports often trains by itself, too (`if __name__ == "__main__":`), or holds functions that the script
never names. Going by names keeps too much rather than too little: whatever is called like something that reachable code
mentions stays, and all of it where names are made while the script runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence

from horovodize.python.syntax import FUNCTIONS, is_main_guard
from horovodize.source.nodes import walk

# Calls and attributes that reach anything by a name that is made while the code runs.
_CALLED = {"globals", "locals", "eval", "exec", "__import__", "import_module"}
_ATTRIBUTES = {"__dict__", "__subclasses__", "import_module", "getmembers", "modules"}
# Calls that name what they reach by a string: getattr(models, "Net").
_NAMING = {"getattr", "methodcaller", "attrgetter"}
# What hangs on these is theirs: `tf.train` names no `train` of the project.
_LIBRARIES = {
    "tensorflow",
    "keras",
    "numpy",
    "matplotlib",
    "pandas",
    "scipy",
    "tqdm",
    "cv2",
    "PIL",
    *sys.stdlib_module_names,
}
# Decorators that hand a function to nobody who might call it.
_KEEPING = {
    "function", "contextmanager", "lru_cache", "cache", "wraps", "dataclass", "jit", "njit", "property", "staticmethod",
    "classmethod", "abstractmethod", "setter", "cached_property",
}  # fmt: skip


def prune(imported: Sequence[ast.Module], script: ast.Module) -> set[str]:
    """Takes out of imported modules what is not run when they are imported, and not named by anything that is. Returns the
    names in what it takes out, which must not be given to anything else."""
    left_out = set[str]()
    for tree in imported:
        for guard in [s for s in tree.body if is_main_guard(s)]:
            tree.body.remove(guard)
            left_out |= _identifiers(guard)
    reach = _Reach((*imported, script))
    reach.follow(script)
    waiting: list[tuple[ast.Module | ast.ClassDef, _Definition]] = []
    for tree in imported:
        for statement in tree.body:
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                waiting.append((tree, statement))
            else:
                reach.follow(statement)
    found = True
    while found and not reach.any_name:
        reached = [(owner, s) for owner, s in waiting if s.name in reach.named or _is_registered(s)]
        found = bool(reached)
        waiting = [pair for pair in waiting if pair not in reached]
        for owner, statement in reached:
            later = reach.methods_to_wait_for(statement) if isinstance(owner, ast.Module) else []
            waiting += [(statement, m) for m in later if isinstance(statement, ast.ClassDef)]
            reach.follow(statement, later)
    for owner, statement in waiting if not reach.any_name else ():
        if isinstance(owner, ast.ClassDef) and reach.any_attribute:
            continue
        owner.body.remove(statement)
        left_out |= _identifiers(statement)
        if not owner.body and isinstance(owner, ast.ClassDef):
            owner.body.append(ast.copy_location(ast.Pass(), statement))
    return left_out


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _Reach:
    """What is named by code that runs.

    any_name       some code reaches what modules hold by names that it makes
    any_attribute  some code reaches attributes of objects so
    """

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self.named: set[str] = set()
        self.any_name = self.any_attribute = False
        self._delegating: set[ast.Call] = set()  # calls in `__getattr__`
        self._imports = {
            (alias.asname or alias.name).split(".", maxsplit=1)[0]
            for tree in trees
            for n in walk(tree)
            if isinstance(n, (ast.Import, ast.ImportFrom))
            for alias in n.names
        }
        bound = [
            (
                alias.asname or alias.name.split(".", maxsplit=1)[0],
                alias.name.split(".", maxsplit=1)[0] in _LIBRARIES,
            )
            for tree in trees
            for n in walk(tree)
            if isinstance(n, ast.Import)
            for alias in n.names
        ]
        self._libraries = {name for name, library in bound if library} - {
            n for n, library in bound if not library
        }
        self._classes = {s.name: s for tree in trees for s in tree.body if isinstance(s, ast.ClassDef)}

    def follow(self, root: ast.AST, without: Sequence[ast.AST] = ()) -> None:
        """Takes in what code names, apart from parts of it."""
        for n in _walk(root, without):
            if isinstance(n, FUNCTIONS) and n.name == "__getattr__":
                self._delegating |= {c for c in walk(n) if isinstance(c, ast.Call)}
            if isinstance(n, ast.Name):
                self.named.add(n.id)
            elif isinstance(n, ast.Attribute):
                if _root(n) not in self._libraries:
                    self.named.add(n.attr)
                self.any_name |= n.attr in _ATTRIBUTES
            elif isinstance(n, ast.alias):
                self.named.add(n.name.rsplit(".", 1)[-1])
            elif isinstance(n, ast.Call):
                called = n.func.id if isinstance(n.func, ast.Name) else getattr(n.func, "attr", "")
                if called in _NAMING:
                    self.named |= {
                        a.value for a in n.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
                    }
                if isinstance(n.func, ast.Name):
                    self._follow_call(n, called)

    def _follow_call(self, call: ast.Call, called: str) -> None:
        """`eval(text)`, `getattr(nets, name)`, `vars(nets)`: names that are not in the text."""
        self.any_name |= called in _CALLED
        if call in self._delegating:
            return  # what is asked for there, other code names
        if called in ("getattr", "vars") and not (
            len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
        ):
            of = call.args[0] if call.args else None
            self.any_name |= not isinstance(of, ast.Name) or of.id in self._imports
            self.any_attribute = True

    def methods_to_wait_for(self, cls: ast.stmt) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The methods of a class that run only where they are named: not those that Python calls, and none of a class that
        a library may call."""
        if not isinstance(cls, ast.ClassDef) or not self._is_own(cls, set()):
            return []
        return [s for s in cls.body if isinstance(s, FUNCTIONS) and not s.name.startswith("__")]

    def _is_own(self, cls: ast.ClassDef, seen: set[ast.ClassDef]) -> bool:
        if cls in seen or cls.keywords:
            return False
        names = [
            b.id if isinstance(b, ast.Name) else b.attr if isinstance(b, ast.Attribute) else ""
            for b in cls.bases
        ]
        return all(
            name == "object" or (name in self._classes and self._is_own(self._classes[name], {*seen, cls}))
            for name in names
        )


def _root(attribute: ast.Attribute) -> str:
    """The name that a chain of attributes starts with."""
    e: ast.expr = attribute
    while isinstance(e, ast.Attribute):
        e = e.value
    return e.id if isinstance(e, ast.Name) else ""


def _walk(root: ast.AST, without: Sequence[ast.AST]) -> Iterator[ast.AST]:
    todo = [root]
    while todo:
        n = todo.pop()
        if n not in without:
            yield n
            todo += ast.iter_child_nodes(n)


def _identifiers(root: ast.AST) -> set[str]:
    return {n.id for n in walk(root) if isinstance(n, ast.Name)} | {
        n.name for n in walk(root) if isinstance(n, (*FUNCTIONS, ast.ClassDef))
    }


def _is_registered(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator may have put a function or class where others find it without its name."""
    for decorator in statement.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
        if name not in _KEEPING:
            return True
    return False
