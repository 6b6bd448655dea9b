"""Which arms of a function run for one of its calls, where a decision goes by a constant that the calls give.

    def input_fn(mode, files):
        if mode == "train":
            return tf.data.TFRecordDataset(files).shuffle(1000)
        return tf.data.TFRecordDataset(files)

The first is for `input_fn("train", …)` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.summary.binding import Binding
from horovodize.summary.module import Module
from horovodize.summary.syntax import FUNCTIONS, arguments, has_unpacking

_NAMES = 4  # that a test's answer goes by, one made of another: `training = mode == "train"`
_UNKNOWN = object()


class ArmsOfCalls:
    """Those of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def may_run(self, place: ast.AST, call: ast.Call) -> bool:
        """Whether a place in the function that a call runs may run for it."""
        arms = self.module.syntax.conditions(place)
        around = [(test, arm == "body") for test, arm in arms if isinstance(test, ast.If)]
        answers = (
            (runs, self._answer(test.test, call, _NAMES)) for test, runs in [*around, *self._left(place)]
        )
        return all(answer is None or answer == runs for runs, answer in answers)

    def _left(self, place: ast.AST) -> Iterator[tuple[ast.If, bool]]:
        """(a decision before a place that leaves the function in one arm, whether the place runs where its test holds)."""
        statement: ast.AST = self.module.syntax.statement(place)
        while isinstance(statement, ast.stmt) and not isinstance(statement, FUNCTIONS):
            block = self.module.syntax.block(statement)
            for earlier in block[: block.index(statement)]:
                if isinstance(earlier, ast.If):
                    yield from (
                        (earlier, runs)
                        for arm, runs in ((earlier.body, False), (earlier.orelse, True))
                        if _leaves(arm)
                    )
            statement = self.module.syntax.parent[statement]

    def only_for(self, places: list[ast.expr], call: ast.Call) -> list[ast.expr]:
        """Those of some places in the function that a call runs which may run for it, where they run for none of its other
        calls; else none."""
        function = self.module.values.callee(call)
        if not isinstance(function, FUNCTIONS):
            return []
        mine = [p for p in places if self.may_run(p, call)]
        others = [c for c in self.module.values.callers(function) if c is not call]
        return [] if any(self.may_run(p, c) for p in mine for c in others) else mine

    def _answer(self, test: ast.expr, call: ast.Call, names: int) -> bool | None:
        """What a test gives for a call; None where that isn't told by constants."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._answer(operand, call, names)
                return None if inner is None else not inner
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                one, other = self._value(left, call, names), self._value(right, call, names)
                if _UNKNOWN in (one, other):
                    return None
                return (one == other) == isinstance(op, ast.Eq)
            case ast.Name():
                value = self._value(test, call, names)
                return None if value is _UNKNOWN else bool(value)
            case _:
                return None

    def _value(self, e: ast.expr, call: ast.Call, names: int) -> object:
        """A constant, or what a constant of a library is called: `tf.estimator.ModeKeys.TRAIN`."""
        match e:
            case ast.Constant(value=value):
                return value
            case ast.Attribute():
                name = self.module.names.of(e)
                return name if name is not None and name.rpartition(".")[2].isupper() else _UNKNOWN
            case ast.Compare() | ast.UnaryOp():
                answer = self._answer(e, call, names)
                return _UNKNOWN if answer is None else answer
            case ast.Name() if names:
                bound = self.module.scopes.reaching(e)
                if len(bound) != 1:
                    return _UNKNOWN
                if bound[0].kind == "parameter":
                    given = self.given(bound[0], call)
                    return self._value(given[0], call, names - 1) if len(given) == 1 else _UNKNOWN
                made = bound[0].value if bound[0].kind == "assign" and not bound[0].path else None
                return self._value(made, call, names - 1) if made is not None else _UNKNOWN
            case _:
                return _UNKNOWN

    def given(self, parameter: Binding, call: ast.Call) -> list[ast.expr]:
        """What a parameter gets by a call, or its default; nothing where that isn't seen."""
        passed, function = self.module.values.passed(parameter), parameter.statement
        given = [v for v in passed if v in arguments(call)]
        if given or has_unpacking(call) or not isinstance(function, FUNCTIONS):
            return given
        return [v for v in passed if v in (*function.args.defaults, *function.args.kw_defaults)]


def _leaves(arm: list[ast.stmt]) -> bool:
    return bool(arm) and isinstance(arm[-1], (ast.Return, ast.Raise))


__all__ = ["ArmsOfCalls"]
