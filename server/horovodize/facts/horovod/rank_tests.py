"""Which decisions of a distributed script the ranks take differently: `if hvd.rank() == 0:`, and all that comes of it."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass

from horovodize.facts.differences.certain_tests import CertainTests
from horovodize.facts.differences.sources import ENDS_OF_PROGRAM
from horovodize.facts.horovod.chosen_by_rank import deciding_object
from horovodize.facts.horovod.horovod_use import HorovodUse
from horovodize.python import fields
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, Function
from horovodize.summary.call_paths import Drive, Frame

_RANK = ("rank", "local_rank", "cross_rank")
# A guess, and used for silence only: a test that is written so may be one of the rank.
_LIKE_A_RANK = re.compile(r"rank|root|master|chief|worker|primary|main_proc|is_main|leader|hvd|horovod", re.I)
# Decorators that let every rank run the function.
_HARMLESS_PACKAGES = {
    *sys.stdlib_module_names,
    *"tensorflow keras torch numpy absl tqdm hydra click typer gin beartype typeguard".split(),
}
_COMMANDS = ("click", "typer", "hydra")  # whose decorators read the command line
_HARMLESS_DECORATORS = ("property", "staticmethod", "classmethod")
_DEPTH = 12


@dataclass(frozen=True, eq=False)
class RankTest:
    """A test that ranks answer differently.

    test   the expression
    other  what the ranks run that answer the other way, as far as it is written here"""

    test: ast.expr
    other: tuple[ast.AST, ...]


class RankTests:
    """The tests of the rank in one module."""

    def __init__(self, module: Module, drive: Drive, use: HorovodUse, certain: CertainTests) -> None:
        self.module, self.drive, self.use, self.certain = module, drive, use, certain
        self._asked = set[ast.Call]()  # whose functions are being looked at

    def is_rank(self, e: ast.expr, depth: int = 0) -> bool:
        """Whether an expression is a rank, or a number made of one."""
        if depth > _DEPTH:
            return False
        if isinstance(e, ast.BinOp):
            return self.is_rank(e.left, depth + 1) or self.is_rank(e.right, depth + 1)
        if isinstance(e, ast.Call) and self.use.is_call(e, *_RANK):
            return True
        if isinstance(e, ast.Call) and self.module.names.last(e.func) in ("int", "str") and len(e.args) == 1:
            return self.is_rank(e.args[0], depth + 1)
        read = fields.read_by(self.module, e) if isinstance(e, ast.Attribute) else ()
        if read and any(self.is_rank(given, depth + 1) for given in read):
            return True
        return any(
            self.is_rank(o.node, depth + 1)
            for o in self.module.values.origins(e)
            if o.node is not e and not o.path and isinstance(o.node, (ast.Call, ast.BinOp))
        )

    def decides(self, test: ast.expr, depth: int = 0) -> bool:
        """Whether ranks answer a test differently because it asks for the rank."""
        if depth > _DEPTH:
            return False
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self.decides(test.operand, depth + 1)
            case ast.BoolOp():
                return any(self.decides(v, depth + 1) for v in test.values)
            case ast.Compare():
                if any(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
                    return False
                if self.certain.answer(test) is not None:  # `hvd.rank() >= 0`
                    return False
                return any(self.is_rank(side) for side in (test.left, *test.comparators))
            case ast.NamedExpr():
                return self.decides(test.value, depth + 1)
            case ast.BinOp():
                return self.is_rank(test)
            case ast.Call() if self.use.is_call(test, *_RANK):
                return True
            case ast.Name() | ast.Attribute() | ast.Call():
                if isinstance(test, ast.Call) and self._answers_by_rank(test):
                    return True
                origins = self.module.values.origins(test)
                found = [o.node for o in origins if not o.path and o.node is not test]
                found += fields.read_by(self.module, test)
                return any(isinstance(n, ast.expr) and self.decides(n, depth + 1) for n in found)
        return False

    def _answers_by_rank(self, call: ast.Call) -> bool:
        """Whether a function gives `True` on some ranks and `False` on others, by a test of the rank in it."""
        function = self.module.values.callee(call)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or call in self._asked:
            return False
        given: dict[bool, bool] = {}  # an answer: whether the rank decides that it is given
        self._asked.add(call)
        try:
            for value in self.module.values.returned(function):
                if not isinstance(value, ast.Constant):
                    return False
                answer = bool(value.value)
                given[answer] = given.get(answer, False) or self.deciding(value) is not None
        finally:
            self._asked.discard(call)
        return len(given) == 2 and any(given.values())

    def deciding(self, node: ast.AST) -> RankTest | None:
        """The innermost test of the rank that decides, within its function, whether a node runs."""
        syntax, child = self.module.syntax, node
        for a in syntax.ancestors(node):
            if isinstance(child, ast.stmt) and isinstance(getattr(a, syntax.field[child], None), list):
                found = self._left_before(child, syntax.block(child))
                if found is not None:
                    return found
            if isinstance(a, CALLABLES):
                return self._of_callers(a) if isinstance(a, ast.Lambda) else None
            found = self._at(a, child)
            if found is not None:
                return found
            child = a
        return None

    def _of_callers(self, function: ast.Lambda) -> RankTest | None:
        """The test by which all that call a lambda are decided: `for report in [lambda: model.save("model.h5")]: report()`."""
        callers = self.module.values.callers(function)
        if not callers or any(self.module.syntax.inside(call, function) for call in callers):
            return None
        tests = [self.deciding(call) for call in callers]
        return tests[0] if None not in tests else None

    def _at(self, a: ast.AST, child: ast.AST) -> RankTest | None:
        field = self.module.syntax.field[child]
        if isinstance(a, ast.If) and field in ("body", "orelse") and self.decides(a.test):
            arm = a.orelse if field == "body" else a.body
            return RankTest(a.test, (*arm, *(self._after(a) if _leaves(self, arm or [a]) else ())))
        if isinstance(a, ast.IfExp) and field in ("body", "orelse") and self.decides(a.test):
            return RankTest(a.test, (a.orelse if field == "body" else a.body,))
        if isinstance(a, ast.While) and field == "body" and self.decides(a.test) and not _counts(a):
            return RankTest(a.test, ())
        if isinstance(a, ast.BoolOp):
            before = a.values[: a.values.index(child)] if isinstance(child, ast.expr) else []
            found = next((v for v in before if self.decides(v)), None)
            return RankTest(found, ()) if found is not None else None
        return None

    def _after(self, statement: ast.stmt) -> list[ast.stmt]:
        block = self.module.syntax.block(statement)
        return block[block.index(statement) + 1 :]

    def _left_before(self, statement: ast.stmt, block: list[ast.stmt]) -> RankTest | None:
        """`if hvd.rank() != 0: return`, before a statement of the same block."""
        for earlier in block[: block.index(statement)]:
            if isinstance(earlier, ast.If) and not earlier.orelse and _leaves(self, earlier.body):
                if self.decides(earlier.test):
                    return RankTest(earlier.test, tuple(earlier.body))
        return None

    def on_way(self, way: tuple[Frame, ...]) -> RankTest | None:
        """The innermost test of the rank on a way down to a place."""
        method: Function | None = None
        for frame in way:
            found = self.deciding(frame.node)
            by_object = deciding_object(self.module, frame.node, method, self.deciding) if method else None
            if found is not None or by_object is not None:
                return found or (RankTest(by_object[0].test, tuple(by_object[1])) if by_object else None)
            method = frame.function
        return None

    def may_be_guarded(self, node: ast.AST) -> bool:
        """Whether some ranks alone may run a node, on any way to it: by a test of the rank, or one that may be."""
        return any(self._like_a_test(frame.node) for way in self.drive.ways(node) for frame in way) or any(
            self.on_way(way) is not None for way in self.drive.ways(node)
        )

    def is_guarded_everywhere(self, node: ast.AST) -> bool:
        """Whether on each way to a node some ranks alone may run it, or one process without others: on no way does it surely
        run on all of several ranks."""
        return all(
            self.on_way(way) is not None
            or any(self._like_a_test(frame.node) or self._is_beside_a_test(frame.node) for frame in way)
            for way in self.drive.ways(node)
        )

    def _is_beside_a_test(self, node: ast.AST) -> bool:
        """Whether the other arm of a test around asks for the rank: this one is for a process alone."""
        for around, arm in self.module.syntax.conditions(node):
            other = around.orelse if arm == "body" else around.body
            inner = (n for part in (other if isinstance(other, list) else [other]) for n in ast.walk(part))
            if any(isinstance(n, ast.If | ast.IfExp) and self.may_decide(n.test) for n in inner):
                return True
        return False

    def asks_for_several(self, test: ast.expr) -> bool:
        """Whether a test asks if there are several ranks: `hvd.size() > 1`."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.asks_for_several(test.operand)
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        sides = (test.left, test.comparators[0])
        few = any(isinstance(side, ast.Constant) and side.value in (0, 1, 2) for side in sides)
        return few and any(
            self.use.depends_on(side, "size", "local_size", limit=100) and not isinstance(side, ast.BinOp)
            for side in sides
        )

    def is_taken_by_all(self, test: ast.expr, arm: bool) -> bool:
        """Whether all ranks go the same way at a test. Of one that asks if there are several, `if hvd.size() > 1:`, the arm
        that several take; the other is for a process alone."""
        answer = self.certain.answer(test)
        return answer is not None and (answer is arm or not self.asks_for_several(test))

    def may_decide(self, test: ast.expr) -> bool:
        """Whether a test asks for the rank, or may: by how it is written. A share, `step > 100 // hvd.size()`, is no rank."""
        if self.decides(test):
            return True
        if self._is_set_alike(test):
            return False
        text, parent = ast.unparse(test), self.module.syntax.parent
        for n in ast.walk(test):
            share = isinstance(parent.get(n), ast.BinOp) or (
                isinstance(parent.get(n), ast.Compare) and not self.asks_for_several(test)
            )
            if isinstance(n, ast.Call) and share and self.use.is_call(n, "size"):
                text = text.replace(ast.unparse(n), "", 1)
        return bool(_LIKE_A_RANK.search(text))

    def _is_set_alike(self, test: ast.expr) -> bool:
        """Whether a name is nothing but constants that no test decides: `HVD_INSTALLED`, set by whether an import fails."""
        origins = self.module.values.origins(test) if isinstance(test, ast.Name) else []
        return bool(origins) and all(
            isinstance(o.node, ast.Constant)
            and not self.module.syntax.conditions(o.node)
            and self.module.syntax.function(o.node) is None
            for o in origins
        )

    def _like_a_test(self, node: ast.AST) -> bool:
        syntax, child = self.module.syntax, node
        for a in syntax.ancestors(node):
            if isinstance(a, (ast.If, ast.IfExp, ast.While)) and syntax.field[child] in ("body", "orelse"):
                alike = self.is_taken_by_all(a.test, syntax.field[child] == "body")
                alike |= isinstance(a, ast.While) and _counts(a)
                if not alike and (self.may_decide(a.test) or self._is_set_by_rank(a.test)):
                    return True
            if isinstance(a, ast.BoolOp) and self.may_decide(a):
                return True
            if isinstance(child, ast.stmt) and isinstance(getattr(a, syntax.field[child], None), list):
                block = syntax.block(child)
                for earlier in block[: block.index(child)]:
                    if isinstance(earlier, ast.If) and _leaves(self, earlier.body):
                        if self.is_taken_by_all(earlier.test, False):
                            continue
                        if self.may_decide(earlier.test) or self._is_set_by_rank(earlier.test):
                            return True
            if isinstance(a, CALLABLES) and self.may_be_skipped(a):
                return True
            child = a
        return False

    def _is_set_by_rank(self, test: ast.expr) -> bool:
        """Whether a test asks for what the rank decided when it was set: `manager = … if hvd.rank() == 0 else None`, and then
        `if manager is not None:`."""
        for e in ast.walk(test):
            if isinstance(e, ast.Name):
                bindings = self.module.scopes.reaching(e)
            elif isinstance(e, ast.Attribute):
                bindings = self.module.values.attribute_bindings(e)
            else:
                continue
            for b in bindings:
                by_value = isinstance(b.value, ast.IfExp) and self.decides(b.value.test)
                if by_value or (isinstance(b.statement, ast.stmt) and self.deciding(b.statement) is not None):
                    return True
        return False

    def may_be_skipped(self, function: ast.AST) -> bool:
        """Whether a decorator may keep some ranks from running a function: one that tests the rank, or can't be followed."""
        return any(self._may_skip(d) for d in getattr(function, "decorator_list", ()))

    def _may_skip(self, decorator: ast.expr) -> bool:
        made_by = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = self.module.names.of(made_by) or ""
        if not name and isinstance(made_by, ast.Name) and made_by.id in _HARMLESS_DECORATORS:
            return False
        if name.startswith("horovod.") and name.endswith(".elastic.run"):
            return False
        if name.split(".")[0] in _COMMANDS:
            return False  # `@click.option("--root")` is no rank
        if _LIKE_A_RANK.search(ast.unparse(decorator)):
            return True
        if name:
            return name.split(".")[0] not in _HARMLESS_PACKAGES
        if isinstance(made_by, ast.Attribute) and made_by.attr in ("setter", "getter"):
            return False
        if isinstance(made_by, ast.Name) and not self.module.scopes.lookup(made_by.id, made_by):
            return False  # a profiler's, that is put among the builtins
        defined = [o.node for o in self.module.values.origins(made_by) if not o.path]
        own = [n for n in defined if isinstance(n, (*CALLABLES, ast.ClassDef))]
        if not own or len(own) < len(defined):
            return True
        tests = (n.test for f in own for n in ast.walk(f) if isinstance(n, (ast.If, ast.IfExp)))
        return any(self.may_decide(test) for test in tests)


def _counts(loop: ast.While) -> bool:
    """Whether a loop goes on until it has counted to a number: the rank then says how often it turns, not whether it does."""
    if not isinstance(loop.test, ast.Compare) or isinstance(loop.test.ops[0], ast.Eq):
        return False
    compared = {ast.unparse(e) for e in (loop.test.left, *loop.test.comparators)}
    return any(isinstance(n, ast.AugAssign) and ast.unparse(n.target) in compared for n in ast.walk(loop))


def _leaves(tests: RankTests, body: list[ast.stmt]) -> bool:
    """Whether what follows a block is not run after it."""
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        func = last.value.func
        name = tests.module.names.of(func) or (func.id if isinstance(func, ast.Name) else "")
        return name in ENDS_OF_PROGRAM
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))
