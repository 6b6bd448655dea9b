"""What may set a value: by that it is seen which ranks have another one than others, where a test of the rank decides whether
it is set. What ranks have exchanged since is the same on all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.python.binding import Binding
from horovodize.python.module import Module

_DEPTH = 3  # names that are made of names
_BEHIND = 60  # nodes that an exchange is looked for behind
_SENT = 400  # nodes that are looked at behind what is broadcast
_SENDING = re.compile("bcast|broadcast|allreduce|allgather", re.I)  # also of MPI, and of the script's own
_KINDS = ("assign", "augment")


class Settings:
    """The statements of one script that set values, whatever decides whether they run."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module
        self._sending = self.module.calls_which(_is_called_as_what_sends)
        self._known: dict[ast.expr, frozenset[ast.AST]] = {}

    def of(self, e: ast.expr) -> frozenset[ast.AST]:
        """The statements that may set what an expression is made of; none of what ranks exchange."""
        if e not in self._known:
            found = set[ast.AST]()
            self._gather(e, _DEPTH, found)
            self._known[e] = frozenset(found)
        return self._known[e]

    def _gather(self, e: ast.AST, depth: int, found: set[ast.AST]) -> None:
        called = {n.func for n in ast.walk(e) if isinstance(n, ast.Call)}
        for n in ast.walk(e):
            if isinstance(n, ast.Attribute) or (isinstance(n, ast.Name) and n not in called):
                found.update(self._restored(n))
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load) and n not in called:
                found.update(self._fields(n))
            if not isinstance(n, ast.Name) or not isinstance(n.ctx, ast.Load) or n in called:
                continue
            bound = self.module.scopes.reaching(n)
            if self._is_sent(n, bound):
                continue
            for b in bound:
                if b.statement in found:
                    continue
                found.add(b.statement)
                if depth and b.kind in _KINDS:
                    for test in self._decided_by(b.statement, e):
                        self._gather(test, depth - 1, found)
                if depth and b.kind in _KINDS and b.value is not None:
                    self._gather(b.value, depth - 1, found)

    def _decided_by(self, statement: ast.AST, e: ast.AST) -> Iterator[ast.expr]:
        """The tests by which something is counted or set that are asked in each turn of a loop around both."""
        syntax = self.module.syntax
        around = {test for test, _ in syntax.conditions(e)}
        loops = syntax.loops(statement)
        if loops and loops[0] in syntax.loops(e):
            yield from (
                t.test for t, _ in syntax.conditions(statement) if t not in around and isinstance(t, ast.If)
            )

    def _fields(self, e: ast.Attribute) -> Iterator[ast.AST]:
        """The statements that set a field of an object of the script's own, if nothing sends it."""
        bound = self.module.values.attribute_bindings(e)
        if not bound or any(b.kind not in _KINDS or b.value is None or _sends(b.value) for b in bound):
            return
        text = ast.unparse(e)
        sent = any(
            any(ast.unparse(g) == text for g in (*c.args, *(k.value for k in c.keywords)))
            for c in self._sending
        )
        of_all = any(
            b.value is not None
            and self.facts.horovod.depends_on(b.value, *AGREEING, limit=_BEHIND)
            and self.facts.rank_tests.deciding(b.value) is None
            for b in bound
        )
        if not sent and not of_all:
            yield from (b.statement for b in bound)

    def _is_sent(self, name: ast.Name, bound: list[Binding]) -> bool:
        """Whether ranks have exchanged what a name stands for, or may have: `data = comm.bcast(data)`, `comm.Bcast(data)`."""
        if any(b.value is not None and _sends(b.value) for b in bound):
            return True
        syntax = self.module.syntax
        return any(
            _mentions(call, name.id)
            for call in self._sending
            if syntax.function(call) is syntax.function(name)
        ) or any(
            b.value is not None
            and self.facts.horovod.depends_on(b.value, *AGREEING, limit=_BEHIND)
            and self.facts.rank_tests.deciding(b.value) is None  # else some ranks alone keep what all have
            for b in bound
        )

    def _restored(self, e: ast.Name | ast.Attribute) -> Iterator[ast.AST]:
        """What reads from a file what a checkpoint keeps: `checkpoint.restore(path)`, where `step` is kept by it."""
        kept = self.facts.kept
        made = (
            [call for call in self.module.values.calls(e) if call in kept.restored] if kept.restored else []
        )
        sent = (
            {n for s in self.facts.horovod.calls("broadcast_variables") for n in self._sent_by(s)}
            if made
            else ()
        )
        for call in made:
            if call not in sent:
                yield from (place for place, _ in kept.places(call))

    def _sent_by(self, call: ast.Call) -> Iterator[ast.AST]:
        """What a broadcast may send, by the calls that make it. `checkpoint.model.variables` are the model's, and no others."""
        values, parent = self.module.values, self.module.syntax.parent
        for e in (*call.args, *(k.value for k in call.keywords)):
            for n in ast.walk(e):
                if isinstance(n, ast.Attribute) and not isinstance(parent.get(n), ast.Attribute):
                    yield from values.calls(n)
                elif isinstance(n, ast.Name) and not isinstance(parent.get(n), ast.Attribute):
                    yield from values.depends([n], _SENT)


def _is_called_as_what_sends(module: Module, call: ast.Call) -> bool:
    return bool(_SENDING.search(ast.unparse(call.func)))


def _sends(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and _SENDING.search(ast.unparse(n.func)) for n in ast.walk(value))


def _mentions(call: ast.Call, name: str) -> bool:
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(n, ast.Name) and n.id == name for e in given for n in ast.walk(e))
