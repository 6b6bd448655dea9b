"""What expressions are on a rank whose number is known: numbers, tests, and texts, with symbols for what isn't known."""

from __future__ import annotations

import ast
import operator
import os
import posixpath
from collections.abc import Callable, Sequence
from typing import Any

from horovodize.facts.differences.answers import Uniform
from horovodize.facts.facts import Facts
from horovodize.facts.horovod.rank_tests import RankTests
from horovodize.interleaving.compared import COMPARISONS
from horovodize.interleaving.left_over import is_left_over
from horovodize.interleaving.settings import Settings
from horovodize.python import fields
from horovodize.python.binding import Binding
from horovodize.python.names import Names
from horovodize.python.syntax import position

_DEPTH = 12
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    **COMPARISONS,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_SETTINGS = (ast.Name, ast.Attribute, ast.Subscript)  # `folder`, `args.folder`, `config["folder"]`
_SAME_PATHS = ("as_posix", "resolve", "absolute", "expanduser")
_TOLD = ("rank", "local_rank", "size", "local_size")
_MAKING = ("torch.utils.tensorboard.", "tensorboardX.", "tensorflow.", "tqdm.")
_PLAIN: dict[str, Callable[[Any], Any]] = {"int": int, "str": str, "float": float, "bool": bool}


class Unseen(Exception):
    """An expression's value isn't to be seen."""


class _Thing:
    """An object that a constructor makes: no number, and not None."""

    def __eq__(self, other: object) -> bool:
        raise Unseen

    __hash__ = None  # type: ignore[assignment]


class ByRank:
    """Expressions of one script on one rank of some, which share a host."""

    def __init__(self, facts: Facts, rank: int, size: int, settings: Settings | None = None) -> None:
        self.facts, self.rank, self.size = facts, rank, size
        self.tests: RankTests = facts.rank_tests
        self.names: Names = facts.module.names
        self.settings = settings if settings is not None else Settings(facts)
        self._texts: dict[ast.expr, str | None] = {}
        self._truths: dict[ast.expr, bool | None] = {}
        self._asked: set[ast.expr] = set()  # names that are being looked up: a name is not made of itself

    # ------------------------------------------------------------------ tests

    def truth(self, test: ast.expr) -> bool | None:
        """Whether a test is true on this rank; None where that isn't to be seen."""
        if test not in self._truths:
            try:
                self._truths[test] = bool(self._value(test, 0))
            except (Unseen, TypeError, ValueError, ArithmeticError):
                self._truths[test] = self.tests.certain.answer(test)  # of `range(1, n)`, no number is 0
        return self._truths[test]

    def number(self, e: ast.expr) -> int | None:
        """A whole number; None where it isn't to be seen."""
        try:
            found = self._value(e, 0)
        except (Unseen, TypeError, ValueError, ArithmeticError):
            return None
        return found if isinstance(found, int) else None

    def plain(self, e: ast.expr) -> int | float | str | None:
        """A number or a text; None where it isn't to be seen."""
        try:
            found = self._value(e, 0)
        except (Unseen, TypeError, ValueError, ArithmeticError):
            return None
        return found if isinstance(found, (int, float, str)) else None

    def set_by(self, e: ast.expr) -> frozenset[ast.AST]:
        """What may set what an expression is made of, on this rank: not what stands under tests that it answers otherwise."""
        return frozenset(node for node in self.settings.of(e) if self._may_come_to(node))

    def _may_come_to(self, node: ast.AST) -> bool:
        """Whether this rank may run a place: on some way to it, it may answer all tests so."""
        ways = self.facts.drive.ways(node)
        return not ways or any(all(False not in self._answers(f.node) for f in way) for way in ways)

    def _value(self, e: ast.expr, depth: int) -> Any:
        if depth > _DEPTH:
            raise Unseen
        below = depth + 1
        match e:
            case ast.Constant():
                return e.value
            case ast.UnaryOp(op=ast.Not()):
                return not self._value(e.operand, below)
            case ast.UnaryOp(op=ast.USub()):
                return -self._value(e.operand, below)
            case ast.BoolOp():
                return self._together(e, below)
            case ast.IfExp():
                return self._value(e.body if self._value(e.test, below) else e.orelse, below)
            case ast.BinOp() if type(e.op) in _BINARY:
                return _BINARY[type(e.op)](self._value(e.left, below), self._value(e.right, below))
            case ast.Compare(ops=[op]) if type(op) in _COMPARED:
                return _COMPARED[type(op)](*self._sides(e, below))
            case ast.Compare(
                ops=[ast.In() | ast.NotIn() as op],
                comparators=[ast.Tuple() | ast.List() | ast.Set() as among],
            ):
                found = self._value(e.left, below) in [self._value(x, below) for x in among.elts]
                return found == isinstance(op, ast.In)
            case ast.NamedExpr():
                return self._value(e.value, below)
            case ast.Call():
                return self._of_call(e, below)
        return self._of_origin(e, below)

    def _sides(self, e: ast.Compare, depth: int) -> list[Any]:
        """What is compared. What is left when rows are divided by the ranks, and compared with the rank, is taken to be 1:
        `hvd.rank() < rows % hvd.size()`, where rank 0 alone has one more. (Where nothing is left, no rank has.)"""
        sides, ordered = [e.left, e.comparators[0]], isinstance(e.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        found = list[Any]()
        for side, other in (sides, sides[::-1]):
            try:
                found.append(self._value(side, depth))
            except Unseen:
                if not (ordered and self.tests.is_rank(other) and is_left_over(self.facts, side)):
                    raise
                found.append(1)
        return found

    def _together(self, e: ast.BoolOp, depth: int) -> Any:
        """`and` and `or`: one side that decides is enough."""
        decides, unseen = isinstance(e.op, ast.Or), False
        found: Any = not decides
        for value in e.values:
            try:
                found = self._value(value, depth)
            except Unseen:
                unseen = True
                continue
            if bool(found) == decides:
                return found
        if unseen:
            raise Unseen
        return found

    def _of_call(self, call: ast.Call, depth: int) -> Any:
        use = self.facts.horovod
        if use.is_call(call, "rank", "local_rank"):
            return self.rank
        if use.is_call(call, "size", "local_size"):
            return self.size
        if use.is_call(call, "cross_rank"):
            return 0
        if use.is_call(call, "cross_size"):
            return 1
        if isinstance(call.func, ast.Name) and call.func.id in _PLAIN and len(call.args) == 1:
            return _PLAIN[call.func.id](self._value(call.args[0], depth))
        if (given := self._returned_here(call)) is not None:
            return self._value(given, depth)
        return _Thing() if self._is_constructor(call) else self._of_origin(call, depth)

    def _is_constructor(self, call: ast.Call) -> bool:
        """Whether a call surely makes an object that counts as true: `SummaryWriter("logs")`."""
        name = self.names.of(call.func) or ""
        return name.startswith(_MAKING) and name.rsplit(".", 1)[-1][:1].isupper()

    def _of_origin(self, e: ast.expr, depth: int) -> Any:
        if (chosen := self._chosen(e)) is not None:
            return self._value(chosen, depth)
        if isinstance(e, ast.Name) and e not in self._asked:
            self._asked.add(e)
            try:
                if (here := self._bound_here(e)) is not None and here is not e:
                    return self._value(here, depth)
            finally:
                self._asked.discard(e)
        # What `total += …` adds is not seen: where a name comes from is then not all that it is.
        bound = self.facts.module.scopes.reaching(e) if isinstance(e, ast.Name) else ()
        if any(b.kind == "augment" for b in bound):
            raise Unseen
        found = [o for o in self.facts.module.values.origins(e) if o.node is not e]
        given = [] if found else fields.read_by(self.facts.module, e)
        if len(given) == 1:
            return self._value(given[0], depth)
        told = [o for o in found if self.facts.horovod.is_call(o.node, *_TOLD)]
        if len(told) == 1 and all(o in told or isinstance(o.node, ast.Constant) for o in found):
            found = told  # a number without Horovod, and the rank with it
        if isinstance(e, ast.Name) and len(bound) > 1 and len(bound) == len(found):
            values = {(type(o.node.value), o.node.value) for o in found if isinstance(o.node, ast.Constant)}
            if len(values) == 1 and all(isinstance(o.node, ast.Constant) and not o.path for o in found):
                return values.pop()[1]  # whichever set it: `first = False`, also before the loop
        if isinstance(e, ast.Attribute) and (always := self._always_set_to(e)) is not None:
            return always.value
        if len(found) != 1 or found[0].path or not isinstance(found[0].node, ast.expr):
            raise Unseen
        if self._is_counted_on(found[0].node) or self._is_set_elsewhere(e, found[0].node):
            raise Unseen
        return self._value(found[0].node, depth)

    def _always_set_to(self, field: ast.Attribute) -> ast.Constant | None:
        """The one constant that all which set a field set it to: `self.sent = True`, also after what it stands for."""
        module = self.facts.module
        bound = module.values.attribute_bindings(field)
        values = [
            b.value for b in bound if b.kind == "assign" and not b.path and isinstance(b.value, ast.Constant)
        ]
        if len(values) < 2 or len(values) != len(bound) or module.loads.get("setattr"):
            return None
        alike = len({(type(v.value), v.value) for v in values}) == 1
        return values[0] if alike and not any(self._is_set_elsewhere(field, v) for v in values) else None

    def _bound_here(self, name: ast.Name) -> ast.expr | None:
        """What a name is bound to on this rank, of several things: by the last statement under tests that it surely answers
        so (`if hvd.rank() == 0: writer = …`, `else: writer = None`), or to the rank, where it is a number without Horovod."""
        bindings = self.facts.module.scopes.reaching(name)
        if len(bindings) == 1 and bindings[0].kind == "parameter":
            passed = self.facts.module.values.passed(bindings[0])
            return passed[0] if len(passed) == 1 else None
        if len(bindings) < 2 or any(b.kind != "assign" or b.path or b.value is None for b in bindings):
            return None
        answers = {b: self._answers(b.statement) for b in bindings}
        kept = [b for b in bindings if False not in answers[b]]
        certain = [b for b in kept if answers[b] and None not in answers[b]]
        if certain:
            return max(certain, key=lambda b: position(b.value) if b.value is not None else (0, 0)).value
        if len(kept) == 1:
            return kept[0].value
        told = [b.value for b in kept if b.value is not None and self.facts.horovod.is_call(b.value, *_TOLD)]
        others = [b.value for b in kept if b.value not in told]
        return told[0] if len(told) == 1 and all(isinstance(v, ast.Constant) for v in others) else None

    def _returned_here(self, call: ast.Call) -> ast.expr | None:
        """What a function gives on this rank, of several constants: by the first `return` whose tests it surely answers so. Of
        tests that it doesn't, as of a mode, that arm counts in which the rank is asked for."""
        if not self.tests.decides(call):
            return None
        function = self.facts.module.values.callee(call)
        returned = self.facts.module.values.returned(function) if function is not None else ()
        kept = [(v, answers) for v in returned if False not in (answers := self._answers(v))]
        certain = [v for v, answers in kept if True in answers] or [v for v, answers in kept if not answers]
        return certain[0] if certain else None

    def is_kept_from(self, node: ast.AST) -> bool:
        """Whether this rank surely doesn't run a place, by a test around it in its function."""
        return False in self._answers(node)

    def _answers(self, statement: ast.AST) -> list[bool | None]:
        """Whether this rank takes each of the arms that a statement is in; None where that isn't seen."""
        found: list[bool | None] = []
        for test, arm in self.facts.module.syntax.conditions(statement):
            truth = self.truth(test.test)
            found.append(None if truth is None else truth == (arm == "body"))
        return found

    def _is_set_elsewhere(self, e: ast.expr, value: ast.expr) -> bool:
        """Whether a constant may be what an attribute begins with, of objects that other modules make and then set up."""
        if not isinstance(e, ast.Attribute) or not isinstance(value, ast.Constant):
            return False
        module = self.facts.module
        owner = module.syntax.owner(value)
        return owner is not None and not any(module.values.callee(c) is owner for c in module.syntax.calls)

    def _is_counted_on(self, value: ast.expr) -> bool:
        """Whether a value is what a name or field begins with that is added to later: a function that gives `total` back gives
        more than the 0 that it set first."""
        syntax = self.facts.module.syntax
        set_by = syntax.parent.get(value)
        targets = set_by.targets if isinstance(set_by, ast.Assign) and set_by.value is value else []
        names = {t.id for t in targets if isinstance(t, ast.Name)}
        fields = {t.attr for t in targets if isinstance(t, ast.Attribute)}
        if not names and not fields:
            return False
        for added in syntax.every(ast.AugAssign):
            assert isinstance(added, ast.AugAssign)
            target = added.target
            if isinstance(target, ast.Attribute) and target.attr in fields:
                return True
            if isinstance(target, ast.Name) and target.id in names:
                if syntax.function(added) is syntax.function(value):
                    return True
        return False

    def _chosen(self, e: ast.expr) -> ast.IfExp | None:
        """The choice that a name or a field stands for: `verbose = 1 if hvd.rank() == 0 else 0`."""
        bindings: Sequence[Binding] = ()
        if isinstance(e, ast.Name):
            bindings = self.facts.module.scopes.reaching(e)
        elif isinstance(e, ast.Attribute):
            bindings = self.facts.module.values.attribute_bindings(e)
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path:
            return None
        value = bindings[0].value
        return value if isinstance(value, ast.IfExp) and self.tests.decides(value.test) else None

    # ------------------------------------------------------------------ texts

    def text(self, e: ast.expr | str) -> str | None:
        """A path as this rank sees it; what is the same on every rank, but not known, stands in it as ⟨its text⟩. None where
        ranks may see it differently."""
        if isinstance(e, str):
            return e
        if e not in self._texts:
            try:
                found = self._text(e, 0)
                shared = found and not found.startswith("/dev/")
                self._texts[e] = posixpath.normpath(found) if shared else None
            except (Unseen, TypeError, ValueError, ArithmeticError):
                self._texts[e] = None
        return self._texts[e]

    def _text(self, e: ast.expr, depth: int) -> str:
        if depth > _DEPTH:
            raise Unseen
        if self.names.of(e) == "os.devnull":
            return os.devnull
        below = depth + 1
        match e:
            case ast.Constant(value=str()):
                return str(e.value)
            case ast.JoinedStr():
                return "".join(self._text(part, below) for part in e.values)
            case ast.FormattedValue(format_spec=None):
                return self._text(e.value, below)
            case ast.BinOp(op=ast.Add()):
                return self._text(e.left, below) + self._text(e.right, below)
            case ast.BinOp(op=ast.Div()):
                return f"{self._text(e.left, below)}/{self._text(e.right, below)}"
            case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() as form)):
                parts = e.right.elts if isinstance(e.right, ast.Tuple) else [e.right]
                return f"{form}%{'|'.join(self._text(part, below) for part in parts)}"
            case ast.Call(keywords=[]) if self._joins(e):
                return "/".join(self._text(part, below) for part in e.args)
            case ast.Call(func=ast.Attribute(value=folder, attr="joinpath"), keywords=[]):
                return "/".join(self._text(part, below) for part in (folder, *e.args))
            case ast.Call(func=ast.Attribute(value=path, attr=method), args=[]) if method in _SAME_PATHS:
                return self._text(path, below)
            case ast.Call(args=[inner], keywords=[]) if self._wraps(e):
                return self._text(inner, below)
            case ast.Call(func=ast.Attribute(value=form, attr="format"), keywords=[]):
                return "|".join(self._text(part, below) for part in (form, *e.args))
        try:
            return str(self._value(e, below))
        except Unseen:
            pass
        found = [o for o in self.facts.module.values.origins(e) if o.node is not e]
        if len(found) == 1 and not found[0].path and isinstance(found[0].node, ast.expr):
            return self._text(found[0].node, below)
        if isinstance(e, _SETTINGS) and isinstance(self.facts.uniform.of(e), Uniform):
            return f"⟨{ast.unparse(e)}⟩"
        raise Unseen

    def _joins(self, call: ast.Call) -> bool:
        name = self.names.of(call.func) or ""
        return name in ("os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PurePath") and bool(
            call.args
        )

    def _wraps(self, call: ast.Call) -> bool:
        name = self.names.of(call.func) or (call.func.id if isinstance(call.func, ast.Name) else "")
        return name in (
            "str",
            "os.fspath",
            "os.path.abspath",
            "os.path.realpath",
            "os.path.expanduser",
            "os.path.normpath",
        )
