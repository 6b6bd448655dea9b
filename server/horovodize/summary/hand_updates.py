"""Variables that a program updates itself from a tape's gradients, without an optimizer: `w.assign_sub(rate * gradient)`.

All updates from one gradient are one step. It can be distributed where each is a plain step down a gradient: what is subtracted
is then proportional to the rate, and the tape is where the gradients are averaged.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, Loop, argument

ASSIGNS = ("assign_sub", "assign_add", "assign")


@dataclass(frozen=True, eq=False)
class HandUpdate:
    """Updates by hand from one gradient.

    gradient   the `tape.gradient(…)` call
    calls      the assignments, in the order of the text
    changes    what each of them takes off its variable, in the same order; None if one is no plain step down the gradient
    site       the call whose statement ends the step: the last assignment, the `zip(…)` of the loop that it stands in, or the
               call of a function that makes the assignments: `sgd(weights, gradients, rate)`"""

    gradient: ast.Call
    calls: tuple[ast.Call, ...]
    changes: tuple[ast.expr, ...] | None
    site: ast.Call


class HandUpdates:
    """Finds the updates by hand of one module.

    gradients_of   the `tape.gradient` calls that an expression is made of
    appended       what is appended to the list that a name stands for"""

    def __init__(
        self,
        module: Module,
        gradients_of: Callable[[ast.expr], list[ast.Call]],
        appended: Callable[[ast.Name], list[ast.expr]],
    ) -> None:
        self.module, self.gradients_of, self.appended = module, gradients_of, appended

    def find(self, assigning: Iterable[ast.Call]) -> list[HandUpdate]:
        """The updates by hand among calls of `assign`, `assign_sub` and `assign_add`."""
        found: dict[ast.Call, list[ast.Call]] = {}
        for call in assigning:
            gradient = self._gradient(call)
            if gradient is not None:
                found.setdefault(gradient, []).append(call)
        return [self._step(gradient, calls) for gradient, calls in found.items()]

    def _step(self, gradient: ast.Call, calls: list[ast.Call]) -> HandUpdate:
        calls.sort(key=lambda c: (c.lineno, c.col_offset))
        sites = [self._site(call, gradient) for call in calls]
        changes = [c for c in map(self._change, calls) if c is not None]
        plain = None not in sites and len(changes) == len(calls) and self._lists(gradient)
        return HandUpdate(gradient, tuple(calls), tuple(changes) if plain else None, sites[-1] or calls[-1])

    def _gradient(self, call: ast.Call) -> ast.Call | None:
        """The gradient with respect to a variable that what it is assigned is made of. What only keeps gradients for later
        steps, a momentum, is none of the variables that it is taken of."""
        value = _value(call)
        for gradient in self.gradients_of(value) if value is not None else ():
            sources = argument(gradient, "sources", 1)
            if sources is None or (not self._restores and self._is_another(_variable(call), sources)):
                continue
            if self._named_in(sources) & self._named_in(_variable(call)):
                return gradient
        return None

    @cached_property
    def _restores(self) -> bool:
        """Whether variables may begin with what another run has kept: a momentum is sent to no rank."""
        return bool(self.module.calls_called("restore", "restore_or_initialize"))

    def _is_another(self, variable: ast.expr, sources: ast.expr) -> bool:
        """Whether a variable is surely made by another call than each that a gradient is taken of."""
        values = self.module.values
        lists = [o.node for o in values.origins(sources)]
        parts = [e for n in lists for e in (n.elts if isinstance(n, (ast.List, ast.Tuple)) else [n])]
        made = [set(values.calls(e)) for e in parts if isinstance(e, ast.expr)]
        own = set(values.calls(variable))
        seen = bool(own) and all(self.module.names.last(c.func) == "Variable" for c in own)
        gathered = isinstance(sources, ast.Name) and bool(self.appended(sources))
        return seen and not gathered and 0 < len(parts) == len(made) and all(m and not m & own for m in made)

    def _named_in(self, expression: ast.expr) -> set[str]:
        """What variables an expression is made of, by the names and attributes that stand for them."""
        module, found = self.module, set()
        added = self.appended(expression) if isinstance(expression, ast.Name) else []
        for node in module.values.depends([expression, *added], 200):
            if isinstance(node, ast.Name) and module.scopes.lookup(node.id, node) is not None:
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(ast.unparse(node))
        return found - {"self", "tf", "np", module.tensorflow_name() or "tf"}

    # ------------------------------------------------------------------ plain steps

    def _site(self, call: ast.Call, gradient: ast.Call) -> ast.Call | None:
        """Where a call is made, if that is once for each variable whenever the gradient is taken."""
        syntax, function = self.module.syntax, self.module.syntax.function(call)
        if function is syntax.function(gradient):
            return self._once(call, gradient, argument(gradient, "sources", 1), syntax.loops(gradient))
        callers = self.module.values.callers(function) if isinstance(function, ast.FunctionDef) else []
        if len(callers) != 1 or not isinstance(function, ast.FunctionDef):
            return None
        given = self._handed(callers[0], function, argument(gradient, "sources", 1))
        inside = self._once(call, None, given, [])
        around = self._once(callers[0], gradient, None, syntax.loops(gradient))
        return (
            around
            if inside is not None and syntax.function(callers[0]) is syntax.function(gradient)
            else None
        )

    def _handed(
        self, caller: ast.Call, function: ast.FunctionDef, sources: ast.expr | None
    ) -> ast.expr | None:
        """The parameter by which a function is handed the variables that a gradient is taken of; as it is read there."""
        first = 1 if self.module.syntax.method_class(function) is not None else 0
        names = [p.arg for p in (*function.args.posonlyargs, *function.args.args)][first:]
        passed = [
            self.module.values.graph.argument(caller, function, name, i) for i, name in enumerate(names)
        ]
        same = [name for name, e in zip(names, passed, strict=True) if _is_same(e, sources)]
        return ast.Name(same[0], ast.Load()) if len(same) == 1 else None

    def _once(
        self, call: ast.Call, gradient: ast.Call | None, sources: ast.expr | None, around: list[Loop]
    ) -> ast.Call | None:
        """The same within one function. `gradient`: where it is taken, if that is there; `around`: the loops around it."""
        syntax = self.module.syntax
        within = [loop for loop in syntax.loops(call) if loop not in around]
        if (
            not isinstance(syntax.parent[call], ast.Expr)
            or syntax.loops(call) != [*within, *around]
            or any(
                isinstance(a, (ast.If, ast.Try)) and (gradient is None or not syntax.inside(gradient, a))
                for a in self._around(call)
            )
        ):
            return None
        if not within:
            return call
        return self._pairs(within[0], call, sources) if len(within) == 1 else None

    def _around(self, call: ast.Call) -> Iterator[ast.AST]:
        """What stands around a call in its function."""
        return itertools.takewhile(lambda a: not isinstance(a, FUNCTIONS), self.module.syntax.ancestors(call))

    def _pairs(self, loop: ast.AST, call: ast.Call, sources: ast.expr | None) -> ast.Call | None:
        """`zip(variables, gradients)` of `for v, g in zip(variables, gradients):`, where a call assigns to the former and the
        latter are the gradients with respect to them."""
        variable = _variable(call)
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or sources is None:
            return None
        parts, target = loop.iter.args, loop.target
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(parts) or loop.orelse:
            return None
        for name, part in zip(target.elts, parts, strict=True):
            if isinstance(name, ast.Name) and isinstance(variable, ast.Name) and name.id == variable.id:
                same = _is_same(part, sources)
                return loop.iter if same and self.module.names.last(loop.iter.func) == "zip" else None
        return None

    def _change(self, call: ast.Call) -> ast.expr | None:
        """What a call takes off its variable, if that is a gradient by itself or in proportion to one."""
        value, method = _value(call), self.module.names.last(call.func)
        change = None
        if method == "assign_sub":
            change = value
        elif method == "assign_add" and isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            change = value.operand
        elif method == "assign" and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            change = value.right if ast.dump(value.left) == ast.dump(_variable(call)) else None
        return change if change is not None and self._is_plain(change) else None

    def _is_plain(self, change: ast.expr) -> bool:
        """`g`, `rate * g`, `g * rate`, `g / n`, `rate * m / sqrt(v)` of what keeps gradients"""
        if isinstance(change, ast.BinOp) and isinstance(change.op, ast.Mult):
            sides = [side for side in (change.left, change.right) if self.gradients_of(side)]
            return len(sides) == 1 and self._is_plain(sides[0])
        if isinstance(change, ast.BinOp) and isinstance(change.op, ast.Div):
            return self._is_plain(change.left) and not self._goes_by_turns(change.right)
        made = isinstance(change, (ast.Name, ast.Subscript)) and bool(self.gradients_of(change))
        return made and not self._goes_by_turns(change)

    def _goes_by_turns(self, e: ast.expr) -> bool:
        """Whether something is raised to the power of a count: `m / (1 - 0.9 ** t)` corrects by how many steps a rank took.
        What the loss raises is no correction."""
        values = self.module.values
        of_losses = set(values.depends(self.gradients_of(e), 200))
        return any(
            isinstance(n, ast.BinOp)
            and isinstance(n.op, ast.Pow)
            and not isinstance(n.right, ast.Constant)
            and n not in of_losses
            for n in values.depends([e], 200)
        )

    def _lists(self, gradient: ast.Call) -> bool:
        """Whether a tape is asked for a list of gradients, or for one: Horovod's averages no dictionary of them."""
        sources = argument(gradient, "sources", 1)
        made = [o.node for o in self.module.values.origins(sources)] if sources is not None else []
        return bool(made) and not any(isinstance(node, (ast.Dict, ast.DictComp)) for node in made)


def _is_same(one: ast.expr | None, other: ast.expr | None) -> bool:
    return one is not None and other is not None and ast.dump(one) == ast.dump(other)


def _variable(call: ast.Call) -> ast.expr:
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _value(call: ast.Call) -> ast.expr | None:
    return argument(call, "delta", 0) or argument(call, "value", 0)
