"""The callbacks that a `fit` is given, one by one, and which of them only some ranks get."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.facts.horovod.rank_tests import RankTest, RankTests
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument
from horovodize.summary.sites import Sites

_DEPTH = 12
_LISTS = (ast.List, ast.Tuple, ast.BinOp)
_ADDING = {"append": 0, "extend": 0, "insert": 1}


@dataclass(frozen=True, eq=False)
class CallbackItem:
    """One callback of a list.

    node      what stands in the list
    made      the calls that may make it; none where that can't be seen
    by        the test of the rank that decides whether a rank gets it
    unsure    something that can't be followed may decide that too
    """

    node: ast.expr
    made: tuple[ast.Call, ...]
    by: RankTest | None
    unsure: bool


class CallbackItems:
    """The callbacks of the fits of one module."""

    def __init__(self, module: Module, sites: Sites, tests: RankTests) -> None:
        self.module, self.sites, self.tests = module, sites, tests

    def of(self, fit: ast.Call) -> list[CallbackItem]:
        """The callbacks of a `fit`, in the order in which they are put into its list; unsure ones among them."""
        given = argument(fit, "callbacks", 5 if self.module.names.last(fit.func) == "fit" else None)
        return self.of_list(given) if given is not None else []

    def of_list(self, given: ast.expr) -> list[CallbackItem]:
        """The elements of a list of callbacks or hooks, likewise."""
        return list(self._items(given, None, False, 0, set()))

    def _items(
        self, e: ast.AST, by: RankTest | None, unsure: bool, depth: int, seen: set[ast.AST]
    ) -> Iterator[CallbackItem]:
        if depth > _DEPTH or e in seen:
            return
        seen.add(e)
        match e:
            case ast.List() | ast.Tuple():
                for element in e.elts:
                    if isinstance(element, ast.Starred):
                        yield from self._items(element.value, by, unsure, depth + 1, seen)
                    elif isinstance(element, ast.IfExp) and self.tests.decides(element.test):
                        for arm in (element.body, element.orelse):
                            yield self._item(arm, by or self.tests.deciding(arm), unsure)
                    else:
                        yield self._item(element, by, unsure)
            case ast.BinOp(op=ast.Add()):
                for side in (e.left, e.right):
                    yield from self._items(side, by, unsure, depth + 1, seen)
            case ast.IfExp():
                tested = self.tests.deciding(e.body) if self.tests.decides(e.test) else None
                for arm in (e.body, e.orelse):
                    yield from self._items(arm, by or tested, unsure or tested is None, depth + 1, seen)
            case ast.Name():
                yield from self._of_name(e, by, unsure, depth, seen)
            case ast.Call() if self.module.names.last(e.func) in ("list", "tuple") and len(e.args) == 1:
                yield from self._items(e.args[0], by, unsure, depth + 1, seen)
            case ast.Call() if isinstance(callee := self.module.values.callee(e), CALLABLES):
                for value in self.module.values.returned(callee):
                    yield from self._items(value, by, unsure, depth + 1, seen)
            case ast.Attribute() if lists := self._lists(e):
                for listed in lists:
                    yield from self._items(listed, by, unsure or len(lists) > 1, depth + 1, seen)
                for call in self._additions(e):
                    yield from self._added(call, by, unsure, depth, seen)
            case ast.Constant(value=None):
                return
            case ast.expr():
                yield CallbackItem(e, (), by, True)

    def _of_name(
        self, name: ast.Name, by: RankTest | None, unsure: bool, depth: int, seen: set[ast.AST]
    ) -> Iterator[CallbackItem]:
        listed = list(self._bound(name, by, unsure, depth, seen))
        for call in self._additions(name):
            at = _place(call, len(listed))
            listed[at:at] = self._added(call, by, unsure, depth, seen)
        yield from listed

    def _bound(
        self, name: ast.Name, by: RankTest | None, unsure: bool, depth: int, seen: set[ast.AST]
    ) -> Iterator[CallbackItem]:
        """What a name is set to, before anything is put into it."""
        bindings = self.module.scopes.reaching(name)
        for b in reversed(bindings):
            if b.kind == "parameter":
                passed = self.module.values.passed(b)
                for value in passed:
                    yield from self._items(value, by, unsure or len(passed) > 1, depth + 1, seen)
                if not passed:
                    yield CallbackItem(name, (), by, True)
            elif b.kind in ("assign", "augment") and not b.path and b.value is not None:
                tested, maybe = self._placed(b.statement)
                yield from self._items(b.value, by or tested, unsure or maybe, depth + 1, seen)
            elif b.kind != "import":
                yield CallbackItem(name, (), by, True)

    def _lists(self, attribute: ast.Attribute) -> list[ast.expr]:
        """The lists that an attribute stands for; none unless all that it may be are such."""
        origins = self.module.values.origins(attribute)
        lists: list[ast.expr] = [
            o.node
            for o in origins
            if isinstance(o.node, ast.expr) and isinstance(o.node, _LISTS) and not o.path
        ]
        return lists if len(lists) == len(origins) else []

    def _added(
        self, call: ast.Call, by: RankTest | None, unsure: bool, depth: int, seen: set[ast.AST]
    ) -> Iterator[CallbackItem]:
        """What an `append`, `extend` or `insert` puts into a list."""
        assert isinstance(call.func, ast.Attribute)
        tested, maybe = self._placed(call)
        at = _ADDING[call.func.attr]
        if len(call.args) <= at:
            return
        if call.func.attr == "extend":
            yield from self._items(call.args[at], by or tested, unsure or maybe, depth + 1, seen)
        else:
            yield self._item(call.args[at], by or tested, unsure or maybe)

    def _placed(self, node: ast.AST) -> tuple[RankTest | None, bool]:
        """By which test of the rank something is put into a list, and whether another condition may be one."""
        tested = self.tests.deciding(node)
        around = self.module.syntax.conditions(node)
        return tested, tested is None and any(self._may_be_of_rank(a.test, arm) for a, arm in around)

    def _may_be_of_rank(self, test: ast.expr, arm: str) -> bool:
        """Whether a test may ask for the rank, where something stands in one of its arms. One with the same answer on all
        ranks, `hvd.rank() >= 0`, doesn't."""
        return not self.tests.is_taken_by_all(test, arm == "body") and self.tests.may_decide(test)

    def _additions(self, listed: ast.Name | ast.Attribute) -> list[ast.Call]:
        """The calls that put something into a list: one of the same name, or attribute of the same object or class."""
        scopes, text = self.module.scopes, ast.unparse(listed)
        name = listed.id if isinstance(listed, ast.Name) else text.split(".")[0]
        home = scopes.lookup(name, listed)
        owner = self.module.syntax.owner(listed)
        return [
            call
            for call in self.sites.method_calls(*_ADDING)
            if isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value) == text
            and (
                scopes.lookup(name, call) is home
                or (
                    isinstance(listed, ast.Attribute)
                    and owner is not None
                    and self.module.syntax.owner(call) is owner
                )
            )
        ]

    def _item(self, element: ast.expr, by: RankTest | None, unsure: bool) -> CallbackItem:
        if by is None and not isinstance(element, ast.IfExp):
            made = self.module.values.calls(element)
            by = next((t for c in made if (t := self.tests.deciding(c)) is not None), None)
        else:
            made = self.module.values.calls(element)
        return CallbackItem(element, tuple(made), by, unsure or isinstance(element, ast.IfExp))

    def classes(self, item: CallbackItem) -> set[str]:
        """Canonical names of the classes that a callback may be of, bases included."""
        found: set[str] = set()
        for call in item.made:
            found |= self.module.values.made_by(call)
        return found


def _place(call: ast.Call, number: int) -> int:
    """Before which item of a list something is put: `insert(0, …)`; the end, where that isn't written."""
    match call:
        case ast.Call(func=ast.Attribute(attr="insert"), args=[ast.Constant(value=int() as at), *_]) if (
            at >= 0
        ):
            return min(at, number)
    return number
