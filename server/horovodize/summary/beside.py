"""Functions of a project that only put something out: a guard at their calls does for them, and leaves what they do, and the
module that many scripts may share, as it is."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import arguments
from horovodize.source.nodes import walk
from horovodize.summary.effects import Effects

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ENDING = ("exit", "quit", "_exit")


class Beside:
    """Of a project; of a single file there are none. `early`: what runs before Horovod is initialised, with no guard."""

    def __init__(self, module: Module, effects: Effects, early: Collection[ast.AST] = ()) -> None:
        self.module, self.effects, self.early = module, effects, early

    def puts_out(self, call: ast.Call) -> bool:
        """Whether a call runs a function that only puts something out, and is to be guarded itself."""
        if not self._put_out or self.module.values.callee(call) not in self._put_out:
            return False
        return not self.is_guarded_outside(call)

    def is_guarded_outside(self, node: ast.AST) -> bool:
        """Whether a node stands in a function whose calls are guarded."""
        put_out = self._put_out
        return bool(put_out) and any(a in put_out for a in self.module.syntax.ancestors(node))

    @property
    def puts_anything_out(self) -> bool:
        """Whether there are such functions."""
        return bool(self._put_out)

    @cached_property
    def _put_out(self) -> set[ast.AST]:
        """Functions that write something, do nothing that all ranks must do, and whose every use is a statement that calls
        them: where a guard can stand (`_may_guard`), or in another such function."""
        syntax = self.module.syntax
        if len(syntax.trees) == 1:
            return set()
        functions = (n for n in syntax.nodes if isinstance(n, _Function))
        found = {f for f in functions if self._only_puts_out(f)}
        while True:
            kept = {f for f in found if self._is_called_from(f, found)}
            kept = {f for f in kept if self._writes(f, kept)}
            if kept == found:
                return set(found)
            found = kept

    def _only_puts_out(self, function: _Function) -> bool:
        syntax, values = self.module.syntax, self.module.values
        if function.decorator_list or self._is_overridden(function):
            return False
        callers = values.callers(function)
        called = {c.func for c in callers}
        used = (
            n
            for n in syntax.nodes
            if (isinstance(n, ast.Name) and n.id == function.name and isinstance(n.ctx, ast.Load))
            or (isinstance(n, ast.Attribute) and n.attr == function.name)
        )
        if any(n not in called and not syntax.inside(n, function) for n in used):
            return False
        return bool(callers) and not self.effects.function_shares(function)

    def _is_overridden(self, function: _Function) -> bool:
        """Whether a method's name is that of another class's, too: its calls may run that one."""
        syntax = self.module.syntax
        return isinstance(syntax.parent[function], ast.ClassDef) and any(
            isinstance(n, _Function)
            and n.name == function.name
            and n is not function
            and isinstance(syntax.parent[n], ast.ClassDef)
            for n in syntax.nodes
        )

    def _ends(self, function: _Function) -> bool:
        """Whether a function may end the program, which rank 0 must not do alone."""
        return any(
            isinstance(n, ast.Call) and self.module.names.last(n.func) in _ENDING for n in walk(function)
        )

    def _adds_to_graph(self, function: _Function) -> bool:
        """Whether a function may add operations to the graph of the training: made by rank 0 alone, they change the names of
        those that come later, which Horovod goes by. (What an output call is given is its own affair.)"""
        outputs, names, syntax = self.effects.output_calls, self.module.names, self.module.syntax
        return bool(self.effects.sites.graph.runs) and any(
            (names.of(n.func) or "").startswith("tensorflow.")
            and names.last(n.func)[:1].islower()
            and all(outputs.of(a) is None for a in (n, *syntax.ancestors(n)) if isinstance(a, ast.Call))
            for n in walk(function)
            if isinstance(n, ast.Call)
        )

    def _is_called_from(self, function: _Function, found: set[_Function]) -> bool:
        syntax, scopes = self.module.syntax, self.module.scopes
        callers = self.module.values.callers(function)
        guarded = [c for c in callers if not any(a in found for a in syntax.ancestors(c))]
        lines = (function.end_lineno or function.lineno) - function.body[0].lineno
        if (
            guarded
            and all(scopes.root(c) is scopes.root(function) for c in guarded)
            and 2 * len(guarded) > lines
        ):
            return False  # in one file a guard in it is as short
        return all(isinstance(syntax.parent[c], ast.Expr) for c in callers) and all(
            self._may_guard(c, function) for c in guarded
        )

    def _may_guard(self, call: ast.Call, function: _Function) -> bool:
        """Whether a guard may stand at a call: in the script, or where steps are taken, in a file that changes anyway. (Folders
        are made by all ranks: each host needs them.)"""
        syntax, root = self.module.syntax, self.module.scopes.root(call)
        of = syntax.function(call)
        if (of if of is not None else syntax.statement(call)) in self.early:
            return False
        if root is self.module.tree and self.module.scopes.root(function) is not root:
            return True
        if root not in self._training or not self._writes_files(function):
            return False
        if self._ends(function) or self._adds_to_graph(function):
            return False
        return not any(map(self.effects.shares, arguments(call))) and not self.effects.may_be_traced(call)

    @cached_property
    def _training(self) -> set[ast.Module]:
        """The files that have training steps."""
        return {self.module.scopes.root(n) for n in self.effects.steps}

    def _writes_files(self, function: _Function) -> bool:
        """Whether a function puts out more than words and folders."""
        calls, names = [n for n in walk(function) if isinstance(n, ast.Call)], self.module.names
        outputs = [(c, o) for c in calls if (o := self.effects.output_calls.of(c)) is not None]
        files = any(o.kind != "print" and "dir" not in names.last(c.func).lower() for c, o in outputs)
        return files or any(self.effects.opening.written(c) is not None for c in calls)

    def _writes(self, function: ast.AST, found: set[_Function]) -> bool:
        calls = [n for n in walk(function) if isinstance(n, ast.Call)]
        outputs = (self.effects.output_calls.of(c) for c in calls)
        return any(o is not None and o.kind != "print" for o in outputs) or any(
            self.module.values.callee(c) in found or self.module.names.last(c.func) == "open" for c in calls
        )
