"""Functions of the modules beside a script that only put something out: a guard at their calls in the script does for them."""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.source.nodes import walk
from horovodize.summary.effects import Effects
from horovodize.summary.module import Module

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Beside:
    """Of a project; of a single file there are none."""

    def __init__(self, module: Module, effects: Effects) -> None:
        self.module, self.effects = module, effects

    def puts_out(self, call: ast.Call) -> bool:
        """Whether a call runs a function that only puts something out, and is to be guarded itself."""
        return self.module.values.callee(call) in self._put_out and not self.is_guarded_outside(call)

    def is_guarded_outside(self, node: ast.AST) -> bool:
        """Whether a node stands in a function whose calls are guarded."""
        return any(a in self._put_out for a in self.module.syntax.ancestors(node))

    @cached_property
    def _put_out(self) -> set[ast.AST]:
        """Functions of other files that write something, do nothing that all ranks must do, and whose every use is a statement
        that calls them: in the script, or in another such function."""
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
        scopes, values = self.module.scopes, self.module.values
        if scopes.root(function) is self.module.tree or function.decorator_list:
            return False
        callers = values.callers(function)
        called = {c.func for c in callers}
        used = (
            n
            for n in self.module.syntax.nodes
            if (isinstance(n, ast.Name) and n.id == function.name and isinstance(n.ctx, ast.Load))
            or (isinstance(n, ast.Attribute) and n.attr == function.name)
        )
        if any(n not in called and not self.module.syntax.inside(n, function) for n in used):
            return False
        return bool(callers) and not self.effects.function_shares(function)

    def _is_called_from(self, function: ast.AST, found: set[_Function]) -> bool:
        syntax = self.module.syntax
        return all(
            isinstance(syntax.parent[call], ast.Expr)
            and (
                self.module.scopes.root(call) is self.module.tree
                or any(a in found for a in syntax.ancestors(call))
            )
            for call in self.module.values.callers(function)
        )

    def _writes(self, function: ast.AST, found: set[_Function]) -> bool:
        calls = [n for n in walk(function) if isinstance(n, ast.Call)]
        outputs = (self.effects.output_calls.of(c) for c in calls)
        return any(o is not None and o.kind != "print" for o in outputs) or any(
            self.module.values.callee(c) in found or self.module.names.last(c.func) == "open" for c in calls
        )
