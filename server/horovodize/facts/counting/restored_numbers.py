"""Which numbers an earlier run of the program has counted: they are read from the names of
files, or from a file it wrote."""

from __future__ import annotations

import ast

from horovodize.facts.files.written import Written
from horovodize.python.module import Module
from horovodize.python.opening import Opening

# What finds a checkpoint: a number that is made from it was counted by an earlier run.
RESUMING = ("latest_checkpoint", "get_checkpoint_state")
# What finds files by their names: a number that is read from one was given to it by an earlier run.
_LISTING = ("glob", "iglob", "iterdir", "listdir", "rglob", "scandir")
_LOADING = ("load", "loadtxt", "genfromtxt", "read_csv", "read_json", "read_pickle")


class RestoredNumbers:
    """The numbers of one module that are read so."""

    def __init__(self, module: Module) -> None:
        self.names, self.values = module.names, module.values
        self._written, self._opening = Written(module), Opening(module)

    def is_restored(self, start: ast.expr) -> bool:
        """Whether a number is read from the name of a checkpoint or another file, or from what a program has saved: a file that
        it writes."""
        if isinstance(start, ast.Constant):
            return False
        calls = (n for n in self.values.depends([start], 400) if isinstance(n, ast.Call))
        return any(
            self.names.last(n.func) in (*RESUMING, *_LISTING) or self._reads_own_file(n) for n in calls
        )

    def reads(self, e: ast.AST) -> bool:
        """Whether an expression is a call that reads a file of the program's own."""
        return isinstance(e, ast.Call) and self.is_restored(e)

    def _reads_own_file(self, call: ast.Call) -> bool:
        opened = self._opening.is_open(call) and self._opening.written(call) is None
        path = self._opening.path(call) if opened else None
        if path is None and self.names.last(call.func) in _LOADING and call.args:
            path = call.args[0]
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("read_text", "read_bytes"):
            path = call.func.value
        return path is not None and self._written.holds(path)
