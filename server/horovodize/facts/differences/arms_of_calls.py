"""Which arms of a function run for one of its calls, where a decision goes by a constant that the calls give.

    def input_fn(mode, files):
        if mode == "train":
            return tf.data.TFRecordDataset(files).shuffle(1000)
        return tf.data.TFRecordDataset(files)

The first is for `input_fn("train", …)` alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, arguments, has_unpacking

_NAMES = 4  # that a test's answer goes by, one made of another: `training = mode == "train"`
_UNKNOWN = object()


class ArmsOfCalls:
    """Those of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def may_run(self, place: ast.AST, call: ast.Call) -> bool:
        """Whether a place in the function that a call runs may run for it."""
        return all(answer is None or answer == runs for runs, answer in self._answers(place, call))

    def surely_runs(self, place: ast.AST, call: ast.Call) -> bool:
        """Whether no decision keeps a call from a place in the function that it runs."""
        return all(answer == runs for runs, answer in self._answers(place, call))

    def _answers(self, place: ast.AST, call: ast.Call) -> Iterator[tuple[bool, bool | None]]:
        """(whether a place runs where a test holds, whether that holds for a call) of each test that decides about it."""
        around = [(test, arm == "body") for test, arm in self.module.syntax.conditions(place)]
        for test, runs in [*around, *self._left(place)]:
            yield runs, self._answer(test.test, call, _NAMES)

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
            case ast.Name() | ast.Attribute():
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
                if name is not None:
                    return name if name.rpartition(".")[2].isupper() else _UNKNOWN
                return self._held(e, call, names - 1) if names else _UNKNOWN
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

    def _held(self, field: ast.Attribute, call: ast.Call, names: int) -> object:
        """What an object holds whose method a call runs, where it is made with a constant: `Rows(x, train=False).batches()`."""
        function = self.module.syntax.function(field)
        if not isinstance(function, FUNCTIONS) or self.module.syntax.method_class(function) is None:
            return _UNKNOWN
        own = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][:1]
        if not isinstance(field.value, ast.Name) or [field.value.id] != own:
            return _UNKNOWN
        of_object = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = self.module.values.calls(of_object) if of_object is not None else []
        bound = self.module.values.attribute_bindings(field)
        if len(made) != 1 or len(bound) != 1 or bound[0].kind != "assign" or bound[0].path:
            return _UNKNOWN
        value = bound[0].value
        return self._value(value, made[0], names) if isinstance(value, (ast.Name, ast.Constant)) else _UNKNOWN

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
