"""Counts that a function is handed and gives back: `step = train_epoch(data, step)`, with `step += 1` and `return step` in it,
or with `return step + 1`.

The parameter and what the caller keeps are one count, though each call begins with a parameter of its own."""

from __future__ import annotations

import ast

from horovodize.facts.counting.fetched import Fetched
from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Function


class HandedCounts:
    """The counts of one module that are handed on so."""

    def __init__(self, module: Module, fetched: Fetched) -> None:
        self.module, self.values, self.fetched = module, module.values, fetched

    def is_handed_back(self, b: Binding) -> bool:
        """Whether every call of a function sets what it passes for a parameter to what that has become."""
        function = b.statement
        calls = self.values.callers(function) if isinstance(function, FUNCTIONS) else []
        return bool(calls) and all(self._sets_back(call, function, b.name) for call in calls)  # type: ignore[arg-type]

    def kept_from(self, b: Binding) -> tuple[str, Function] | None:
        """The parameter that a name is the caller's name of, by `step = train_epoch(data, step)`, and its function."""
        if b.kind != "assign" or not isinstance(b.value, ast.Call):
            return None
        function = self.values.callee(b.value)
        if not isinstance(function, FUNCTIONS):
            return None
        names = {n.id if isinstance(n, ast.Name) else None for n in self._returned(function, b.path)}
        name = names.pop() if len(names) == 1 else None
        return (name, function) if name is not None and self._is_given(b, function, name) else None

    def given_back(self, b: Binding) -> list[tuple[str, ast.expr]]:
        """(what a function was handed, what it gives back for it): of `step, heat = tick(step, heat)` and `return step + 1,
        heat * 0.99` in it, `heat` and `heat * 0.99`, by the parameter's name."""
        function = self.values.callee(b.value) if isinstance(b.value, ast.Call) else None
        if b.kind != "assign" or not isinstance(function, FUNCTIONS):
            return []
        a = function.args
        handed = [
            p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if self._is_given(b, function, p.arg)
        ]
        return [(p, e) for p in handed for e in self._returned(function, b.path) if e is not None]

    def sums(self, b: Binding) -> list[ast.BinOp]:
        """Where the function counts on that a name is set by: `step + 1` of `step = train(x, step)`, `return step + 1`; nothing
        where it returns anything else, or has changed what it was handed before."""
        if b.kind != "assign" or not isinstance(b.value, ast.Call):
            return []
        function = self.values.callee(b.value)
        returned = self._returned(function, b.path) if isinstance(function, FUNCTIONS) else []
        sums = [e for e in returned if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add)]
        names = {e.left.id if isinstance(e.left, ast.Name) else None for e in sums}
        name = names.pop() if len(names) == 1 and len(sums) == len(returned) else None
        if name is None or not isinstance(function, FUNCTIONS) or not self._is_given(b, function, name):
            return []
        bound = self.module.scopes.names.get(function, {}).get(name, ())
        return sums if [o.kind for o in bound] == ["parameter"] else []

    def _is_given(self, b: Binding, function: Function, name: str) -> bool:
        """Whether a call passes for a parameter the very name that is set to what it returns."""
        given = self._given(b.value, function, name) if isinstance(b.value, ast.Call) else None
        return given is not None and ast.unparse(given) == ast.unparse(b.anchor)

    def _sets_back(self, call: ast.Call, function: Function, name: str) -> bool:
        given, statement = self._given(call, function, name), self.module.syntax.statement(call)
        if given is None or not isinstance(statement, ast.Assign) or statement.value is not call:
            return False
        target = statement.targets[0]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        same = [i for i, part in enumerate(parts) if ast.unparse(part) == ast.unparse(given)]
        if len(same) != 1 or len(statement.targets) != 1:
            return False
        path = (same[0],) if parts[0] is not target else ()
        returned = self._returned(function, path)
        return bool(returned) and all(isinstance(n, ast.Name) and n.id == name for n in returned)

    def _returned(self, function: Function, path: tuple[int, ...]) -> list[ast.expr | None]:
        return [self.fetched.part(e, path) for e in self.values.returned(function)]

    def _given(self, call: ast.Call, function: Function, name: str) -> ast.expr | None:
        """What a call passes for a parameter."""
        names = [p.arg for p in (*function.args.posonlyargs, *function.args.args)]
        is_method = self.module.syntax.method_class(function) is not None
        index = names.index(name) - is_method if name in names else None
        return self.values.graph.argument(call, function, name, index)


__all__ = ["HandedCounts"]
