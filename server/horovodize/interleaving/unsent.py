"""Broadcasts that don't happen just where one rank has changed its weights: `if not args.resume:` around the broadcast, where
rank 0 alone restores if `args.resume`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.interleaving.changes import Changes, parts
from horovodize.python.binding import Binding

_DEPTH = 6
_RESTORING = ("restore", "load_weights")
_AS_IT_IS = ("int", "bool", "float")


class Unsent:
    """The broadcasts of one script that a test leaves out."""

    def __init__(self, facts: Facts, changes: Changes) -> None:
        self.facts, self.module, self.changes = facts, facts.module, changes

    def may_be(self, test: ast.expr, answer: bool) -> bool:
        """Whether a test, which must be answered so for a broadcast, is answered otherwise where some ranks alone change their
        weights: it asks for the contrary of what these changes stand under."""
        return bool(self._changed_where) and any(
            (text, not truth) in self._changed_where for text, truth in self._needed(test, answer, _DEPTH)
        )

    @cached_property
    def _changed_where(self) -> set[tuple[str, bool]]:
        """What is true, or not, where some ranks alone change their weights."""
        syntax, found = self.module.syntax, set[tuple[str, bool]]()
        for call in self.module.syntax.calls:
            if self.facts.rank_tests.deciding(call) is None or self.changes.of(call) != "weights":
                continue
            for around, arm in syntax.conditions(call):
                found |= {_plainly(*part) for part in parts(around.test, arm == "body")}
                # What is set beside the change says whether there was one: `start = 5`.
                block = around.body if arm == "body" else around.orelse
                for s in block if isinstance(block, list) else ():
                    found |= {(t.id, True) for t in _set_names(s)}
            if isinstance(call.func, ast.Attribute) and call.func.attr in _RESTORING and call.args:
                found.add(_plainly(call.args[0], True))  # without a file, nothing is restored
        return found

    def _needed(self, test: ast.expr, answer: bool, depth: int) -> Iterator[tuple[str, bool]]:
        """What must be true, or not, for a test to be answered so: of a name, also of what it stands for."""
        if depth == 0:
            return
        for part, truth in parts(test, answer):
            for value in self._stands_for(part) if isinstance(part, ast.Name) else ():
                yield from self._needed(value, truth, depth - 1)
            text, is_true = _plainly(part, truth)
            yield text, is_true
            # `epoch == 0`, of a loop that begins where the run was stopped.
            if (start := self._begins_at(part)) is not None:
                yield _plainly(start, is_true)

    def _stands_for(self, name: ast.Name) -> list[ast.expr]:
        """What a flag may be, beside the constants that it is set to after the first step, or that calls pass."""
        given = list[ast.expr]()
        for b in self.module.scopes.reaching(name):
            if b.kind == "parameter":
                given += self.module.values.passed(b)
            elif b.kind == "assign" and not b.path and b.value is not None:
                given.append(b.value)
            else:
                return []
        return [e for e in given if not isinstance(e, ast.Constant)]

    def _begins_at(self, part: ast.expr) -> ast.expr | None:
        """The name at which a loop begins to count what is compared with 0."""
        if not isinstance(part, ast.Compare) or not isinstance(part.left, ast.Name):
            return None
        bound = self.module.scopes.reaching(part.left)
        return _first_number(bound[0], part.left.id) if len(bound) == 1 else None


def _first_number(b: Binding, name: str) -> ast.expr | None:
    loop = b.statement
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    match loop.iter:
        case ast.Call(func=ast.Name(id="range" | "xrange" | "trange"), args=[start, _, *_]):
            return start if isinstance(loop.target, ast.Name) and isinstance(start, ast.Name) else None
        case ast.Call(func=ast.Name(id="enumerate"), args=[_, start]):
            first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
            counted = isinstance(first, ast.Name) and first.id == name
            return start if counted and isinstance(start, ast.Name) else None
    return None


def _set_names(s: ast.stmt) -> Iterator[ast.Name]:
    if isinstance(s, ast.Assign):
        yield from (t for t in s.targets if isinstance(t, ast.Name))


def _plainly(test: ast.expr, truth: bool) -> tuple[str, bool]:
    """A test without its negation, and whether it is true: `epoch == 0` is that `epoch` is not, `path is not None` that `path`
    is."""
    match test:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _AS_IT_IS:
            return _plainly(inner, truth)
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=(0 | None) as value)]):
            same = isinstance(op, (ast.Eq, ast.Is)) or (value == 0 and isinstance(op, ast.LtE))
            other = isinstance(op, (ast.NotEq, ast.IsNot)) or (value == 0 and isinstance(op, ast.Gt))
            if same or other:
                return _plainly(left, truth == other)
        case ast.Compare(left=left, ops=[ast.Lt() | ast.GtE() as op], comparators=[ast.Constant(value=1)]):
            return _plainly(left, truth == isinstance(op, ast.GtE))
    return ast.unparse(test), truth
