"""What the loops around a step do to what was made before them: they fill it, set its elements, bind a name again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.contexts import Context
from horovodize.facts.feeds.turn_calls import LIBRARIES
from horovodize.python.module import Module
from horovodize.python.syntax import Loop, arguments
from horovodize.source.nodes import walk
from horovodize.summary.feeding import Feeding

_FILLING = (
    "append",
    "appendleft",
    "extend",
    "insert",
    "add",
    "push",
    "put",
    "remember",
    "store",
    "update",
    "pop",
    "popleft",
)
_WRITES_INTO = {"copyto", "put", "place", "putmask", "fill_diagonal"}


class LoopChanges:
    """What the loops around the steps of one module change in their turns."""

    def __init__(self, module: Module, feeding: Feeding) -> None:
        self.module, self.feeding = module, feeding
        self.syntax, self.names, self.values = module.syntax, module.names, module.values
        self._filled_in: dict[Loop, set[str]] = {}
        self._run_by: dict[tuple[Loop, ast.AST], bool] = {}

    def are_filling(self, e: ast.expr, context: Context) -> bool:
        """Whether something is put into what a name stands for in the turns of the loops around a step."""
        text = ast.unparse(e)
        return any(text in self._filled(loop) for c in context.around() for loop in c.loops)

    def set_in(self, e: ast.Name, context: Context) -> Iterator[ast.expr]:
        """What the elements of an array are set to in the loops around a step: `batch[j] = rows[k]`. (What is set by a list of
        such, `a[j], b[j] = pair`, is that of the whole.)"""
        loops = [loop for c in context.around() for loop in c.loops]
        for statement in self.feeding.sites.flow.elements.statements(e) if loops else ():
            function = self.syntax.function(statement)
            in_call = any(
                c.repeated and c.function is function for c in context.around()
            )  # that makes a batch
            if in_call or any(self.syntax.inside(statement, loop) for loop in loops):
                yield statement.value

    def may_change(self, e: ast.expr, context: Context) -> bool:
        """Whether, in the loops around a step, what a name stands for is given to something that may change it."""
        calls = (c for at in context.around() for loop in at.loops for c in self.feeding.calls_in(loop))
        return isinstance(e, ast.Name) and any(
            isinstance(given, ast.Name) and given.id == e.id and not self._only_reads(call)
            for call in calls
            for given in arguments(call)
        )

    def _only_reads(self, call: ast.Call) -> bool:
        """Whether a call leaves its arguments as they are, or only in another order."""
        name, last = self.names.of(call.func) or "", self.names.last(call.func)
        is_builtin = self.module.scopes.is_builtin(call.func)
        return (name.startswith(LIBRARIES) and last not in _WRITES_INTO) or is_builtin or last == "shuffle"

    def _filled(self, loop: Loop) -> set[str]:
        """What something is put into in a loop's turns, as text."""
        found = self._filled_in
        if loop not in found:
            called = self.feeding.calls_in(loop)
            found[loop] = {
                ast.unparse(c.func.value)
                for c in called
                if isinstance(c.func, ast.Attribute) and c.func.attr in _FILLING
            } | {
                ast.unparse(n.value)
                for s in loop.body
                for n in walk(s)
                if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
            }
        return found[loop]

    def run_function_of(self, statement: ast.AST, context: Context) -> bool:
        """Whether the loops around a step run a statement that stands in another function, in each turn."""
        function = self.syntax.function(statement)
        if function is None or context.is_running(function):
            return False
        found = self._run_by
        for loop in (loop for c in context.around() for loop in c.loops):
            if (loop, function) not in found:
                called = {self.values.callee(c) for c in self.feeding.calls_in(loop)}
                found[loop, function] = function in called
            if found[loop, function]:
                return True
        return False

    def bind_again(self, statement: ast.AST, context: Context) -> bool:
        """Whether the loops around a step run a statement in each turn, wherever it stands."""
        if self.run_function_of(statement, context):
            return True
        if any(self.syntax.inside(statement, loop) for c in context.around() for loop in c.loops):
            return True
        repeated = {c.function for c in context.around() if c.repeated}
        return context.repeated and self.syntax.function(statement) in repeated
