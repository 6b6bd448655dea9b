"""Counts in records that are replaced as a whole: `state = state._replace(step=state.step + 1)` of a named tuple,
`dataclasses.replace(state, step=state.step + 1)` of a data class, `{**state, "step": state["step"] + 1}` of a dictionary,
`state = (state[0] + 1, loss)` of a plain tuple; `counts.update(step=1)` of a `collections.Counter`, which adds.

A field so set counts like a number that is added to, whatever names and functions the record goes through."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.record_tuples import carried_on, place, whole_of
from horovodize.facts.counting.records import REPLACING, Replaced, in_place, renewed, replaced, text_of
from horovodize.facts.counting.restored_numbers import RestoredNumbers
from horovodize.python.augmented import augmented
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.python.tables import in_order
from horovodize.summary.feeding import Driver

_TUPLES = ("collections.namedtuple", "typing.NamedTuple", "dataclasses.make_dataclass")


class RecordCounts:
    """The counts of one module that are kept so. `is_amount`: whether steps are counted by something; `is_constant`: whether
    that is the same each time."""

    def __init__(
        self,
        module: Module,
        occasions: Occasions,
        is_amount: Callable[[ast.expr], bool],
        is_constant: Callable[[ast.expr], bool],
    ) -> None:
        self.module, self.occasions = module, occasions
        self.syntax, self.values, self.names = module.syntax, module.values, module.names
        self._is_amount, self._is_constant = is_amount, is_constant
        self._restored = RestoredNumbers(module)
        self._known: dict[tuple[str, ast.AST], Counter | None] = {}

    def of(self, e: ast.expr) -> Counter | None:
        """The counter that a field is: `state.step`, `state["step"]`; None where it may be anything else."""
        field = _field(e)
        if field is None or field not in self._fields or not isinstance(e, (ast.Attribute, ast.Subscript)):
            return None
        return self._of_field(e.value, field)

    def of_part(self, whole: ast.expr, path: tuple[int | str, ...]) -> Counter | None:
        """The counter that a name is which a tuple is unpacked to: `step` of `step, best = state`."""
        field = place(path[0]) if len(path) == 1 and isinstance(path[0], int) else None
        return self._of_field(whole, field) if field is not None and field in self._fields else None

    def _of_field(self, whole: ast.expr, field: str) -> Counter | None:
        found = {self._counter(field, kind) for kind in self._kinds(whole)}
        return found.pop() if len(found) == 1 else None

    @property
    def exist(self) -> bool:
        """Whether any field is set from itself."""
        return bool(self._fields)

    @property
    def all(self) -> Iterator[Counter]:
        """All such counters."""
        for field in sorted(self._fields):
            for kind in dict.fromkeys(
                k for r in self._replaced if field in r.fields for k in self._kinds(r.whole)
            ):
                counter = self._counter(field, kind)
                if counter is not None:
                    yield counter

    def reads(self, counter: Counter) -> list[ast.expr]:
        """Where a field that counts is read, but in what counts it on."""
        reads = self.syntax.every(ast.Attribute, ast.Subscript)
        return [
            e
            for e in reads
            if isinstance(e.ctx, ast.Load)
            and self.of(e) is counter
            and not any(self.syntax.inside(e, place) for place in counter.advances)
        ]

    @cached_property
    def _fields(self) -> set[str]:
        """The fields that are set from themselves."""
        return {
            f
            for r in self._replaced
            for f, value in r.fields.items()
            if self._amount(r, f, value) is not None
        }

    @cached_property
    def _replaced(self) -> list[Replaced]:
        named = self.module.calls_called(*REPLACING)
        found = [
            replaced(self.module, n) for n in in_order([*named, *self.syntax.every(ast.Dict, ast.BinOp)])
        ]
        found += [in_place(c) for c in self.module.calls_called("update")]
        sums = (
            n
            for n in self.syntax.every(ast.BinOp)
            if isinstance(n.op, ast.Add) and isinstance(n.left, ast.Attribute)
        )
        around = (self.syntax.parent[n] for n in sums)
        calls = (self.syntax.parent[a] if isinstance(a, ast.keyword) else a for a in around)
        found += [renewed(self.module, c) for c in dict.fromkeys(calls) if isinstance(c, ast.Call)]
        found += [carried_on(self.module, t) for t in self.syntax.every(ast.Tuple, ast.List)]
        return [r for r in found if r is not None]

    @cached_property
    def _by_node(self) -> dict[ast.AST, Replaced]:
        return {r.made: r for r in self._replaced}

    def _kinds(self, e: ast.expr) -> list[ast.AST]:
        """What an expression may be a record of: a class, the call that makes one, a dictionary as it began."""
        return self._behind(e)[0]

    def _is_kept(self, r: Replaced) -> bool:
        """Whether a record that replaces another is what is replaced next, rather than a copy beside it."""
        if isinstance(r.made, ast.BinOp) or in_place(r.made) is not None:
            return isinstance(r.made, ast.Call) or augmented(self.syntax.statement(r.made)) is not None
        function = self.syntax.function(r.made)
        is_own = self.syntax.method_class(function) is not None and isinstance(r.whole, ast.Name)
        return is_own or r.made in self._behind(r.whole)[1]

    def _behind(self, e: ast.expr) -> tuple[list[ast.AST], set[ast.AST]]:
        """(what an expression may be a record of, what it may have been replaced by)"""
        found, seen, todo = list[ast.AST](), set[ast.AST](), [e]
        while todo:
            whole = todo.pop()
            if whole in seen:
                continue
            seen.add(whole)
            found += (c for c in self.values.receiver(whole) if isinstance(c, ast.ClassDef))
            for o in self.values.origins(whole):
                if o.path or o.node in seen or not isinstance(o.node, ast.expr):
                    continue
                if o.node in self._by_node:
                    seen.add(o.node)
                    todo.append(self._by_node[o.node].whole)
                else:
                    found += self._made(o.node)
        return list(dict.fromkeys(found)), seen

    def _made(self, e: ast.expr) -> Iterator[ast.AST]:
        if isinstance(e, (ast.Dict, ast.Tuple, ast.List)):
            yield e
        elif isinstance(e, ast.Call):
            if self._is_adding(e):
                yield e
            if self.names.of(e.func) == "dict" or (
                isinstance(e.func, ast.Name) and e.func.id == "dict" and self.module.scopes.is_builtin(e.func)
            ):
                yield e
            for o in self.values.origins(e.func):
                if isinstance(o.node, ast.Call) and self.names.of(o.node.func) in _TUPLES:
                    yield o.node

    def _amount(self, r: Replaced, field: str, value: ast.expr) -> ast.expr | None:
        """`1` of `state._replace(step=state.step + 1)`, and of `counts.update(step=1)` of a counter"""
        if isinstance(r.made, ast.Call) and self._adds(r):
            return value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            return None
        left, whole = value.left, None
        if _field(left) == field and isinstance(left, (ast.Attribute, ast.Subscript)):
            whole = left.value
        elif isinstance(r.made, (ast.Tuple, ast.List)):
            whole = whole_of(self.module, left, int(field[1:-1]))
        return value.right if whole is not None and ast.unparse(whole) == ast.unparse(r.whole) else None

    def _adds(self, r: Replaced) -> bool:
        """Whether what a record is updated with is added to what it has: `collections.Counter`."""
        if in_place(r.made) is None:
            return False
        made = [o.node for o in self.values.origins(r.whole) if not o.path]
        others = [e for e in made if not self._is_adding(e)]
        return len(others) < len(made) and all(self._restored.reads(e) for e in others)

    def _is_adding(self, e: ast.AST) -> bool:
        return isinstance(e, ast.Call) and self.names.of(e.func) == "collections.Counter"

    def _counter(self, field: str, kind: ast.AST) -> Counter | None:
        if (field, kind) not in self._known:
            self._known[field, kind] = None  # while it is being found out
            self._known[field, kind] = self._find(field, kind)
        return self._known[field, kind]

    def _find(self, field: str, kind: ast.AST) -> Counter | None:
        """A record may be one of several kinds: those which are counted on together are one counter."""
        same = [r for r in self._replaced if field in r.fields and kind in self._kinds(r.whole)]
        moves = {r: a for r in same if (a := self._amount(r, field, r.fields[field])) is not None}
        if not moves or not all(map(self._is_kept, moves)) or not all(map(self._is_amount, moves.values())):
            return None
        drivers, fitted = set[Driver](), False
        for r in moves:
            counted = self.occasions.counted_at(r.made)
            if counted is None or self.occasions.are_seldom(r.made, counted[0]):
                return None
            drivers |= counted[0]
            fitted |= counted[1]
        others = [r for r in same if r not in moves]
        if any(self.syntax.inside(r.made, d.loop) for r in others for d in drivers):
            return None
        starts = [*(r.fields[field] for r in others), *self._begun(field, kind)]
        starts += dict.fromkeys(e for r in moves for e in self._loaded(r.whole))
        given = (*starts, *(r.whole for r in moves), *self._filled_with(kind))
        stored = any(map(self._restored.is_restored, given))
        rows = not all(map(self._is_constant, moves.values()))
        places = tuple(r.fields[field] for r in moves)
        counter = Counter(
            CounterKind.NUMBER, frozenset(drivers), fitted, places, tuple(starts), stored, rows=rows
        )
        for other in {k for r in moves for k in self._kinds(r.whole)}:
            self._known[field, other] = counter
        return counter

    def _filled_with(self, kind: ast.AST) -> Iterator[ast.expr]:
        """What a record is given as a whole: `state.update(json.load(file))`"""
        for call in self.module.calls_called("update"):
            whole = call.func.value if isinstance(call.func, ast.Attribute) else None
            if whole is not None and call.args and kind in self._kinds(whole):
                yield call.args[0]

    def _begun(self, field: str, kind: ast.AST) -> Iterator[ast.expr]:
        """What a field is given where a record is made, by name or by its default."""
        if isinstance(kind, ast.Dict):
            yield from (v for k, v in zip(kind.keys, kind.values, strict=True) if text_of(k) == field)
        if isinstance(kind, (ast.Tuple, ast.List)):
            yield from (v for i, v in enumerate(kind.elts) if place(i) == field)
        if not isinstance(kind, ast.ClassDef):
            return
        for s in kind.body:
            named = isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name) and s.target.id == field
            if named and isinstance(s, ast.AnnAssign) and s.value is not None:
                yield s.value
        for call in self.syntax.calls:
            if self.values.callee(call) is kind:
                yield from (k.value for k in call.keywords if k.arg == field)

    def _loaded(self, whole: ast.expr) -> Iterator[ast.expr]:
        """The calls that give a record as it begins: `state = load()`"""
        for b in self.values.bindings(whole):
            if b.kind == "assign" and not b.path and isinstance(b.value, ast.Call):
                if b.value not in self._by_node and isinstance(self.values.callee(b.value), FUNCTIONS):
                    yield b.value


def _field(e: ast.expr) -> str | None:
    match e:
        case ast.Attribute(attr=attr):
            return attr
        case ast.Subscript(slice=ast.Constant(value=int(at))):
            return place(at)
        case ast.Subscript(slice=key):
            return text_of(key) or None
    return None


__all__ = ["RecordCounts"]
