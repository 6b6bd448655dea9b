"""Which places of a script surely never run: the other arm of a test with one answer, what follows `[] and`, and what all calls
of a function leave out (`step(x, False)` of what stands under `if first:`)."""

from __future__ import annotations

import ast

from horovodize.facts.differences.certain_tests import CertainTests
from horovodize.python.flags import Level, is_left_out
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS

_DEPTH = 8


class NeverRun:
    """Such places in one module, as it is written: a switch that is set another time is asked as it is set."""

    def __init__(self, module: Module, certain: CertainTests) -> None:
        self.module, self.certain = module, certain

    def is_at(self, node: ast.AST, levels: tuple[Level, ...] = ()) -> bool:
        """Whether a node surely never runs. A function that nothing calls may be called by another module.

        levels: the calls that lead to it, of which each is asked whether it leaves out what it leads to"""
        if len(levels) > _DEPTH:
            return False
        if self._is_in_dead_arm(node):
            return True
        function = self.module.syntax.function(node)
        if not isinstance(function, FUNCTIONS) or any(level.function is function for level in levels):
            return False
        calls = self.module.values.callers(function)
        return bool(calls) and all(self._leaves_out(node, function, call, levels) for call in calls)

    def _leaves_out(
        self, node: ast.AST, function: ast.AST, call: ast.Call, levels: tuple[Level, ...]
    ) -> bool:
        assert isinstance(function, FUNCTIONS)
        below = (*levels, Level(node, function, call))
        if self._is_answered_by(node, function, call):
            return True
        return any(is_left_out(self.module, below[i:]) for i in range(len(below))) or self.is_at(call, below)

    def _is_answered_by(self, node: ast.AST, function: ast.AST, call: ast.Call) -> bool:
        """Whether a call passes a test with one answer for a parameter that decides against a node: `step(x, i < 0)`."""
        assert isinstance(function, FUNCTIONS)
        unpacked = any(isinstance(a, ast.Starred) for a in call.args) or any(
            k.arg is None for k in call.keywords
        )
        for around, arm in self.module.syntax.conditions(node):
            test, wanted = around.test, arm == "body"
            while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, wanted = test.operand, not wanted
            bound = self.module.scopes.reaching(test) if isinstance(test, ast.Name) else []
            if (
                unpacked
                or len(bound) != 1
                or bound[0].kind != "parameter"
                or bound[0].statement is not function
            ):
                continue
            given = self.module.values.graph.given(call, function, bound[0].name)
            if (
                isinstance(given, ast.Compare)
                and self.answer(given) is not wanted
                and self.answer(given) is not None
            ):
                return True
        return False

    def _is_in_dead_arm(self, node: ast.AST) -> bool:
        """Whether a test around a node, in its function, has the other answer."""
        child = node
        for a in self.module.syntax.ancestors(node):
            field = self.module.syntax.field[child]
            if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
                answer = self.answer(a.test)
                if answer is not None and answer is not (field == "body"):
                    return True
            if isinstance(a, ast.BoolOp) and isinstance(child, ast.expr):
                decisive = isinstance(a.op, ast.Or)
                if any(self.answer(v) is decisive for v in a.values[: a.values.index(child)]):
                    return True
            if isinstance(a, FUNCTIONS):
                return False
            child = a
        return False

    def answer(self, test: ast.expr) -> bool | None:
        """What a test gives each time; None where that may be either, or isn't known."""
        match test:
            case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
                return False
            case ast.UnaryOp(op=ast.Not()):
                inner = self.answer(test.operand)
                return None if inner is None else not inner
            case ast.BoolOp():
                decisive = isinstance(test.op, ast.Or)
                answers = [self.answer(v) for v in test.values]
                if decisive in answers:
                    return decisive
                return None if None in answers else not decisive
            case ast.Name():
                bound = self.module.scopes.reaching(test)
                if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or self._is_global(test.id):
                    return None
                value = bound[0].value
                return bool(value.value) if isinstance(value, ast.Constant) else None
        return self.certain.answer(test)

    def _is_global(self, name: str) -> bool:
        """Whether a function may set a name of the module."""
        return any(name in n.names for n in self.module.syntax.every(ast.Global))
