"""All counts of steps that a module keeps: those of a checkpoint, those that begin with others or a product, those of rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.facts.counting.added_numbers import AddedNumbers
from horovodize.facts.counting.any_counts import adds_by_assigning, given_back
from horovodize.facts.counting.counter_kinds import Counter, CounterKind, is_stored_to
from horovodize.facts.counting.record_counts import RecordCounts
from horovodize.facts.counting.row_counts import (
    is_divided,
    is_divided_by,
    is_index,
    is_set_before,
    is_shown,
    stands_for_rows,
)
from horovodize.facts.counting.variable_counts import VariableCounts
from horovodize.facts.files.kept import VARIABLES
from horovodize.python.augmented import added
from horovodize.python.syntax import is_one

if TYPE_CHECKING:
    from horovodize.facts.counting.counters import Counters

_OF_TENSORFLOW = (CounterKind.ITERATIONS, CounterKind.GLOBAL_STEP)


class KeptCounts:
    """Those of one module."""

    def __init__(
        self, counters: Counters, variables: VariableCounts, numbers: AddedNumbers, records: RecordCounts
    ) -> None:
        self.counters, self.variables, self.numbers, self.records = counters, variables, numbers, records
        self.module, self.syntax = counters.module, counters.syntax

    @cached_property
    def stored(self) -> list[Counter]:
        """The counters that are kept with a checkpoint."""
        found = [self.variables.of(c) for c in self.module.calls_of(*VARIABLES)]
        found += [*self._added_to_by_statements(), *self.records.all]
        return [c for c in dict.fromkeys(found) if c is not None and c.stored and not self._is_of_a_rank(c)]

    @property
    def begun_by_others(self) -> Iterator[tuple[Counter, ast.expr]]:
        """(a number that is added to, what TensorFlow counts and it begins with): `step = int(optimizer.iterations)`."""
        counters = (
            c for c in dict.fromkeys(self._added_to_by_statements()) if c is not None and not c.stored
        )
        for c in counters:
            for start in c.starts:
                of_tensorflow = (e for e, begun in self.counters.reads(start) if begun.kind in _OF_TENSORFLOW)
                yield from ((c, e) for e in of_tensorflow)

    @cached_property
    def begun_by_products(self) -> list[Counter]:
        """The numbers that begin with a product, and are no checkpoint's: `step = epoch * steps`."""
        return [
            c
            for c in dict.fromkeys(self._added_to_by_statements())
            if c is not None and not c.stored and not c.rows
            and any(isinstance(start, ast.BinOp) and isinstance(start.op, ast.Mult) for start in c.starts)
        ]  # fmt: skip

    def _added_to_by_statements(self) -> list[Counter | None]:
        found = list[Counter | None]()
        adding = {*self.syntax.every(ast.AugAssign), *self.module.which(adds_by_assigning, ast.Assign)}
        for n in [n for n in self.syntax.every(ast.AugAssign, ast.Assign) if n in adding]:
            counted = added(n)
            target = counted.target if counted is not None else None
            if isinstance(target, ast.Subscript):
                found.append(self.numbers.item(target))
            elif target is not None:
                found.append(self.numbers.of(self.numbers.key(target)))
        return found

    @cached_property
    def of_rows(self) -> list[Counter]:
        """The counters that go on by the rows of batches, whose number isn't written out, and that something goes by."""
        found = [self.variables.of(c) for c in self.module.calls_of(*VARIABLES)]
        scopes = self.module.scopes
        tables = [table for names in scopes.names.values() for table in names.values()]
        given = set(given_back(self.module))
        candidates = [
            b
            for table in (*tables, *scopes.attributes.values())
            for b in table
            if b.kind == "augment" or b in given
        ]
        for b in filter(self.numbers.adds, candidates):
            if isinstance(b.anchor, (ast.Name, ast.Attribute)) and any(
                stands_for_rows(self.module.values, e) for e in self.numbers.amounts(b)
            ):
                found.append(self.numbers.of(self.numbers.key(b.anchor)))
        found += self.records.all
        return [
            c
            for c in dict.fromkeys(found)
            if c is not None
            and c.rows
            and not self._is_of_a_rank(c)
            and not all(is_set_before(self.syntax, place, self._texts(place)) for place in c.advances)
            and (any(not is_shown(self.syntax, n) for n in self._reads(c)) or self._is_shown_alone(c))
        ]

    def _is_shown_alone(self, counter: Counter) -> bool:
        """Whether a count of rows that is only shown is shown beside no other sum of a rank's own rows, which it would not fit:
        `print(correct, "of", seen)`."""
        shown = {self.syntax.statement(n) for n in self._reads(counter)}
        beside = (n for s in shown for n in ast.walk(s) if isinstance(n, (ast.Name, ast.Attribute)))
        summed = {ast.unparse(s.target) for s in self.syntax.every(ast.AugAssign) if not is_one(s.value)}
        own = {text for place in counter.advances for text in self._texts(place)}
        return all(
            ast.unparse(n) not in summed - own
            or self.counters.of(n) is not None
            or is_divided(self.syntax, n)
            for n in beside
        )

    def _is_of_a_rank(self, counter: Counter) -> bool:
        """Whether a count of rows belongs to what a rank has of them: a sum that is divided by it, an array that it indexes."""
        return counter.rows and any(
            is_divided_by(self.syntax, n) or is_index(self.syntax, n) for n in self._reads(counter)
        )

    def _reads(self, counter: Counter) -> list[ast.expr]:
        """Where a count is read, but in what counts it on."""
        texts = {text for place in counter.advances for text in self._texts(place)}
        return self.records.reads(counter) + [
            n
            for n in self.syntax.every(ast.Name, ast.Attribute)
            if not is_stored_to(n) and ast.unparse(n) in texts and self.counters.of(n) is counter
            and not any(self.syntax.inside(n, place) for place in counter.advances)
        ]  # fmt: skip

    def _texts(self, place: ast.AST) -> set[str]:
        """How what a place counts on is written there."""
        named = (t for t in ast.walk(place) if isinstance(t, (ast.Name, ast.Attribute)))
        return {ast.unparse(t) for t in named if self._counts_on(place, t)}

    def _counts_on(self, place: ast.AST, named: ast.expr) -> bool:
        """Whether a name is what a place counts on: `seen` of `seen += n`, `seen.assign_add(n)`."""
        match place:
            case ast.AugAssign(target=target):
                return target is named
            case ast.Assign(targets=targets):
                return named in targets
            case ast.Call(func=ast.Attribute(value=value)):
                return value is named
            case _:
                return False


__all__ = ["KeptCounts"]
