"""How many times values are multiplied by the number of ranks: rates, and what is made of them."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.facts.differences import command_line
from horovodize.facts.differences.class_attributes import constant_of_class
from horovodize.facts.rates.schedule_rates import FIRST_RATES
from horovodize.python.augmented import augmented
from horovodize.python.syntax import FUNCTIONS, argument, position
from horovodize.python.values import Origin

if TYPE_CHECKING:
    from horovodize.facts.horovod.horovod_use import HorovodUse

_ESTIMATORS = ("tensorflow.estimator.Estimator", "tensorflow.compat.v1.estimator.Estimator")
_SCHEDULER = "tensorflow.keras.callbacks.LearningRateScheduler"
# Of these, what is made of numbers without the number of ranks has none either.
_MATHEMATICS = "exp cos sin tanh sqrt log pow power floor ceil minimum maximum".split()
_CHOOSING = ("min", "max")
_DEPTH = 12

Factors = frozenset[
    int | None
]  # in which cases a value is how many times multiplied; None: in one that isn't seen
_UNSEEN: Factors = frozenset({None})
_NONE: Factors = frozenset({0})


class SizeFactors:
    """Such values of one module."""

    def __init__(self, use: HorovodUse) -> None:
        self.use, self.module = use, use.module

    def of(self, e: ast.expr, depth: int = 0) -> Factors:
        """How many times a value is multiplied by the number of ranks (0: not at all; -1: divided by it), in each case."""
        if depth > _DEPTH:
            return _UNSEEN
        match e:
            case ast.Constant():
                return frozenset({0})
            case ast.UnaryOp():
                return self.of(e.operand, depth + 1)
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.FloorDiv()):
                left, right = self.of(e.left, depth + 1), self.of(e.right, depth + 1)
                return _together(left, right, isinstance(e.op, ast.Mult))
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() as power)):
                return frozenset(None if f is None else f * power for f in self.of(e.left, depth + 1))
            case ast.BinOp(op=ast.Pow()):  # `0.9 ** epoch`
                bare = self.of(e.left, depth + 1) == _NONE and not self.use.depends_on(
                    e.right, "size", "local_size"
                )
                return _NONE if bare else _UNSEEN
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mod()):
                left, right = self.of(e.left, depth + 1), self.of(e.right, depth + 1)
                return left if left == right and len(left) == 1 else _UNSEEN
            case ast.Call() if self.use.is_call(e, "size"):
                return frozenset({1})
            case ast.Attribute() if self._is_argument(e):
                return frozenset({0})
            case ast.Attribute() if (value := constant_of_class(self.module, e)) is not None:
                return self.of(value, depth + 1)
            case ast.Subscript() if (value := self.parameter_of_estimator(e)) is not None:
                return self.of(value, depth + 1)
            case ast.Name() if changed := self._changed_by(e):
                return self._factors_after(changed, depth)
            case ast.Call() if self.module.names.last(e.func) in ("float", "int") and len(e.args) == 1:
                return self.of(e.args[0], depth + 1)
            case ast.Call() if e.args and not e.keywords and self._is_mathematics(e):
                given = {self.of(x, depth + 1) for x in e.args}
                alike = self.module.scopes.is_builtin(e.func) if isinstance(e.func, ast.Name) else False
                return given.pop() if len(given) == 1 and (alike or given == {_NONE}) else _UNSEEN
            case ast.Name() if self._is_epoch(e):
                return _NONE
            case ast.Call() if (chosen := self._chosen(e)) is not None:
                return frozenset(f for x in chosen for f in self.of(x, depth + 1))
        return frozenset(
            f
            for o in self.module.values.origins(e)
            for f in self._factors_of(e, o.node if not o.path else None, depth)
        )

    def _chosen(self, call: ast.Call) -> list[ast.expr] | None:
        """What one of is given: by `tf.where(test, a, b)` and `tf.cond(test, lambda: a, lambda: b)`, and the rate that a
        schedule starts with; a number under another type."""
        name, last = self.module.names.of(call.func) or "", self.module.names.last(call.func)
        if name in FIRST_RATES:
            first = argument(call, *FIRST_RATES[name])
            lists = [o.node for o in self.module.values.origins(first)] if first is not None else []
            if len(lists) == 1 and isinstance(lists[0], (ast.List, ast.Tuple)) and lists[0].elts:
                return lists[0].elts[:1]
            return [first] if first is not None else None
        if not name.startswith("tensorflow."):
            return None
        if last in ("where", "cond") and len(call.args) == 3:
            return [e.body if isinstance(e, ast.Lambda) else e for e in call.args[1:]]
        if last in ("cast", "convert_to_tensor", "constant", "to_float") and call.args:
            return call.args[:1]
        return None

    def _is_mathematics(self, call: ast.Call) -> bool:
        """`math.exp(x)`, `np.cos(x)`, or the lesser of two."""
        if (
            isinstance(call.func, ast.Name)
            and call.func.id in _CHOOSING
            and self.module.scopes.is_builtin(call.func)
        ):
            return True
        name = self.module.names.of(call.func) or ""
        return name.startswith(("math.", "numpy.", "tensorflow.")) and name.rsplit(".", 1)[-1] in _MATHEMATICS

    def _is_epoch(self, name: ast.Name) -> bool:
        """Whether a name is the number that a `LearningRateScheduler` gives its function first; the second is the rate."""
        bound = self.module.scopes.reaching(name)
        return bool(bound) and all(b.kind == "parameter" and b.anchor in self._epochs for b in bound)

    @cached_property
    def _epochs(self) -> set[ast.AST]:
        """The parameters of schedules that count epochs."""
        found = set[ast.AST]()
        for call in self.module.calls_of(_SCHEDULER):
            schedule = argument(call, "schedule", 0)
            for origin in self.module.values.origins(schedule) if schedule is not None else ():
                if isinstance(origin.node, (*FUNCTIONS, ast.Lambda)) and not origin.path:
                    found.update([*origin.node.args.posonlyargs, *origin.node.args.args][:1])
        return found

    def parameter_of_estimator(self, e: ast.Subscript) -> ast.expr | None:
        """What the only Estimator hands to its `model_fn` under a key: `params["rate"]`."""
        if not isinstance(e.value, ast.Name) or not isinstance(e.slice, ast.Constant):
            return None
        function = self.module.syntax.function(e)
        made = [c for name in _ESTIMATORS for c in self.module.calls_of(name)]
        if len(made) != 1 or e.value.id != "params" or function is None:
            return None
        given, model = argument(made[0], "params", 3), argument(made[0], "model_fn", 0)
        if given is None or model is None:
            return None
        if not any(o.node is function for o in self.module.values.origins(model)):
            return None
        dicts = [o.node for o in self.module.values.origins(given)]
        if len(dicts) != 1 or not isinstance(dicts[0], ast.Dict):
            return None
        pairs = zip(dicts[0].keys, dicts[0].values, strict=True)
        return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == e.slice.value), None)

    def _changed_by(self, name: ast.Name) -> list[ast.stmt]:
        """The statements such as `rate *= …` that may have changed a name before it is read."""
        bound = self.module.scopes.reaching(name)
        return [b.statement for b in bound if b.kind == "augment" and isinstance(b.statement, ast.stmt)]

    def _factors_after(self, changed: list[ast.stmt], depth: int) -> Factors:
        """The same after the last of these, if that is done once, whatever happens."""
        last = max(changed, key=position)
        syntax, change = self.module.syntax, augmented(last)
        if change is None or not isinstance(change.operator, ast.Mult | ast.Div | ast.FloorDiv):
            return _UNSEEN
        if syntax.conditions(last) or syntax.loops(last):
            return _UNSEEN
        before, by = self.of(change.target, depth + 1), self.of(change.value, depth + 1)
        return _together(before, by, isinstance(change.operator, ast.Mult))

    def _is_argument(self, e: ast.Attribute) -> bool:
        """Whether a value is one that the script was started with, and that nothing sets: `args.lr`, `FLAGS.lr`."""
        made = self.module.values.origins(e.value)
        if not made or not all(self._is_parsed(o) for o in made):
            return False
        return not any(
            n.attr == e.attr and not isinstance(n.ctx, ast.Load) and not self._is_of_self(n)
            for n in self.module.syntax.every(ast.Attribute)
        ) and not self.module.loads.get("setattr")

    def _is_of_self(self, target: ast.Attribute) -> bool:
        """Whether what is set is an attribute of an object of the script's own: `self.lr = …`."""
        function = self.module.syntax.function(target)
        return (
            isinstance(target.value, ast.Name)
            and target.value.id == "self"
            and self.module.syntax.method_class(function) is not None
        )

    def _is_parsed(self, made: Origin) -> bool:
        """Whether a value is all that a script was started with."""
        if made.call is not None and not made.path:
            return command_line.parses(self.module, made.call)
        return command_line.is_flags(self.module, made.node)

    def _factors_of(self, e: ast.expr, origin: ast.AST | None, depth: int) -> Factors:
        return self.of(origin, depth + 1) if isinstance(origin, ast.expr) and origin is not e else _UNSEEN


def _together(one: Factors, other: Factors, multiplied: bool) -> Factors:
    """Two values multiplied, or divided. Where both are one thing in one case and another in others, these may be the same
    cases, and nothing is seen."""
    if len(one) > 1 and len(other) > 1:
        return _UNSEEN
    sign = 1 if multiplied else -1
    return frozenset(None if a is None or b is None else a + sign * b for a in one for b in other)
