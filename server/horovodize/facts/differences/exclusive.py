"""Which two places of a module never both run: they stand in arms of one decision that is taken once.

The arms of an `if` (`elif` and `else` included), of a conditional expression and of a `match` exclude each other; so do an
arm that ends with `return` or `raise` and what follows, and the bodies of `if args.phase == "train":` and, after it,
`if args.phase == "test":`, where nothing sets what they compare. A decision that may be taken again, in a loop or by a
function that may be called twice, excludes nothing: another turn may go the other way."""

from __future__ import annotations

import ast
from itertools import product

from horovodize.facts.feeds.turn_calls import LIBRARIES
from horovodize.python.module import Module
from horovodize.python.syntax import COMPREHENSIONS, LOOPS, Function
from horovodize.summary.call_paths import MOST_WAYS, Drive, Frame

_RUNNERS = ("absl.app.run", "tensorflow.compat.v1.app.run")  # they run a function once, and end the program
_SETTING = ("setattr", "vars", "exec", "eval")


class Exclusive:
    """The exclusions of one module."""

    def __init__(self, module: Module, drive: Drive) -> None:
        self.module, self.drive = module, drive
        self._only_called: dict[Function, bool] = {}

    def apart(self, a: ast.AST, b: ast.AST) -> bool:
        """Whether it is certain that in one run of the program at most one of two places runs."""
        ways_a, ways_b = self.drive.ways(a), self.drive.ways(b)
        if len(ways_a) >= MOST_WAYS or len(ways_b) >= MOST_WAYS:
            return False
        return all(self._ways_apart(way_a, way_b) for way_a, way_b in product(ways_a, ways_b))

    def _ways_apart(self, a: tuple[Frame, ...], b: tuple[Frame, ...]) -> bool:
        """Whether two ways, innermost frame first, part at a decision that is taken once. They are gone down together."""
        if not all(self._is_whole(way) for way in (a, b)):
            return False
        for one, other in zip(reversed(a), reversed(b), strict=False):
            if one.function is not other.function:
                return False
            if one.node is not other.node:
                return self._arms_apart(one.node, other.node)
            if self._is_repeated(one.node):
                return False
        return False

    def _is_whole(self, way: tuple[Frame, ...]) -> bool:
        """Whether a way starts where the program does, and nothing else may call the functions on it."""
        return way[-1].function is None and all(
            frame.function is not None and self._is_only_called(frame.function) for frame in way[:-1]
        )

    def _is_only_called(self, function: Function) -> bool:
        """Whether all that a file does with a function is to call it, where that can be seen."""
        if function.name.startswith("__"):
            return False  # Python calls it
        if function not in self._only_called:
            callers = self.module.values.callers(function)
            calls = {call.func for call in callers}
            calls.update(a for c in callers if self.module.names.of(c.func) in _RUNNERS for a in c.args)
            self._only_called[function] = all(
                self.module.names.of(d.func if isinstance(d, ast.Call) else d) == "tensorflow.function"
                for d in function.decorator_list
            ) and all(use in calls for use in self._uses(function))
        return self._only_called[function]

    def _uses(self, function: Function) -> list[ast.expr]:
        """Where a file reads a name that is the function's."""
        syntax = self.module.syntax
        names = [n for n in syntax.every(ast.Name) if n.id == function.name and isinstance(n.ctx, ast.Load)]
        names = [n for n in names if not self._is_parameter(n)]
        members = [
            n for n in syntax.every(ast.Attribute) if n.attr == function.name and self._may_hold(n, function)
        ]
        return [*names, *members]

    def _may_hold(self, member: ast.expr, function: Function) -> bool:
        """Whether what has a name after its dot may be a function: of one that is no method only a module of the program has,
        not options, `if FLAGS.train: train()`, nor a library, `tf.train`."""
        if self.module.syntax.method_class(function) is not None:
            return True
        if (self.module.names.of(member) or "").startswith(LIBRARIES):
            return False
        holder = member.value if isinstance(member, ast.Attribute) else None
        bound = self.module.scopes.reaching(holder) if isinstance(holder, ast.Name) else []
        return not bound or any(b.kind not in ("assign", "parameter") for b in bound)

    def _is_parameter(self, name: ast.expr) -> bool:
        bound = self.module.scopes.reaching(name) if isinstance(name, ast.Name) else []
        return bool(bound) and all(b.kind == "parameter" for b in bound)

    # ------------------------------------------------------------------ within one function

    def _arms_apart(self, a: ast.AST, b: ast.AST) -> bool:
        """Whether two places of one function stand in arms that exclude each other."""
        up_a, up_b = self._path(a), self._path(b)
        around = set(up_b)
        common = next((n for n in up_a if n in around), None)
        if common is None or common in (a, b) or self._is_repeated(common):
            return False
        child_a, child_b = (up[up.index(common) - 1] for up in (up_a, up_b))
        fields = {self.module.syntax.field[child_a], self.module.syntax.field[child_b]}
        if isinstance(common, (ast.If, ast.IfExp)) and fields == {"body", "orelse"}:
            return True
        if isinstance(common, ast.Match):
            return isinstance(child_a, ast.match_case) and isinstance(child_b, ast.match_case)
        if isinstance(common, LOOPS) or len(fields) != 1:
            return False
        first, second = sorted((child_a, child_b), key=lambda n: getattr(n, "lineno", 0))
        inner, later = (up_a, up_b) if first is child_a else (up_b, up_a)
        if first is second or not isinstance(first, ast.If):
            return False
        return self._leaves(first, inner) or (
            isinstance(second, ast.If)
            and _arm(first, inner) is first.body
            and _arm(second, later) is second.body
            and self._never_both(first.test, second.test)
        )

    def _never_both(self, first: ast.expr, second: ast.expr) -> bool:
        """Whether two tests compare the same, which nothing sets, with different strings or numbers."""
        one, other = _compared(first), _compared(second)
        if one is None or other is None or ast.dump(one[0]) != ast.dump(other[0]) or one[1] == other[1]:
            return False
        return self._stays(one[0], other[0])

    def _stays(self, first: ast.expr, later: ast.expr) -> bool:
        """Whether a name, or an attribute of it, is the same at two places: an option, as a rule."""
        scopes, names = self.module.scopes, self.module.names
        while isinstance(first, ast.Attribute) and isinstance(later, ast.Attribute):
            if self._may_be_set(first):
                return False
            first, later = first.value, later.value
        if not isinstance(first, ast.Name) or not isinstance(later, ast.Name):
            return False
        bound = scopes.reaching(first)
        kinds = {b.kind for b in bound}
        is_one = (
            len(bound) == 1
            and [*map(id, bound)] == [*map(id, scopes.reaching(later))]
            and kinds <= {"assign", "parameter"}
        )
        return is_one or (bool(bound) and kinds == {"import"} and names.of(first) == names.of(later))

    def _may_be_set(self, e: ast.Attribute) -> bool:
        """Whether a file may set an attribute of what `e` takes it from; methods that set their own object's are of others."""
        syntax, values = self.module.syntax, self.module.values
        if any(isinstance(c.func, ast.Name) and c.func.id in _SETTING for c in syntax.calls):
            return True
        stored = [b.anchor for b in self.module.scopes.attributes.get(e.attr, ())]
        if not stored:
            return False
        made = values.calls(e.value)
        classes = [isinstance(values.callee(call), ast.ClassDef) for call in made]
        return not made or any(classes) or not all(
            isinstance(a, ast.Attribute)
            and isinstance(a.value, ast.Name)
            and a.value.id == "self"
            and syntax.method_class(syntax.function(a)) is not None
            for a in stored
        )  # fmt: skip

    def _leaves(self, decision: ast.If, up: list[ast.AST]) -> bool:
        """Whether the arm of a decision that a place stands in ends with leaving the function."""
        arm = _arm(decision, up)
        return arm is not None and isinstance(arm[-1], (ast.Return, ast.Raise))

    def _path(self, node: ast.AST) -> list[ast.AST]:
        return [node, *self.module.syntax.ancestors(node)]

    def _is_repeated(self, node: ast.AST) -> bool:
        """Whether a place may run more than once in one run of its function: in a loop, a comprehension or a lambda."""
        syntax = self.module.syntax
        function, child = syntax.function(node), node
        for a in syntax.ancestors(node):
            if a is function:
                return False
            if isinstance(a, (*COMPREHENSIONS, ast.Lambda)):
                return True
            if isinstance(a, LOOPS) and syntax.field[child] in ("body", "test"):
                return True
            child = a
        return False


def _arm(decision: ast.If, up: list[ast.AST]) -> list[ast.stmt] | None:
    """The arm of a decision that a place stands in, of which `up` is the way up."""
    child = up[up.index(decision) - 1]
    return next((arm for arm in (decision.body, decision.orelse) if child in arm), None)


def _compared(test: ast.expr) -> tuple[ast.expr, str | int] | None:
    """`x == "train"` → x and the constant."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    constant = test.comparators[0]
    if isinstance(constant, ast.Constant) and isinstance(constant.value, (str, int)):
        return test.left, constant.value
    return None
