"""The races of a script's runs: for each pair of places, the first run that shows one, with what may come of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.ordering.model import Does, Op, Race, Run, known
from horovodize.ordering.reading import Reading, TooMuch
from horovodize.python.syntax import position

_MOST = 8  # operations on one variable
_FOLLOWED = 3000  # nodes behind a place


class Kind(Enum):
    """What two operations do to one variable, or to what a Python function keeps."""

    ASSIGNED_TWICE = "assigned twice"
    READ_AND_ASSIGNED = "read and assigned"
    READ_AND_COUNTED = "read and added to"
    TRAINED_AND_ASSIGNED = "trained and assigned"
    CALLED_TWICE = "called twice"


@dataclass(frozen=True, eq=False)
class Conflict:
    """Two places whose order matters in a run, and that nothing orders, in the order of the text.

    is_read_first  the first one reads
    is_fetched     one of them is fetched itself
    ends           what the variable holds in the end, or what is read of it, in the two orders, where that is known"""

    kind: Kind
    first: ast.expr
    second: ast.expr
    run: ast.Call
    variable: str
    is_read_first: bool
    is_fetched: bool
    ends: tuple[float | None, float | None]

    @property
    def quoted(self) -> str:
        """The variable in a sentence."""
        return self.variable if "`" in self.variable or " " in self.variable else f"`{self.variable}`"


class Conflicts:
    """The conflicts of one script."""

    def __init__(self, facts: Facts) -> None:
        self.module, self.sites = facts.module, facts.sites
        self.values, self.syntax = self.module.values, self.module.syntax

    @cached_property
    def all(self) -> list[Conflict]:
        """Each pair of places once, in the order of the runs."""
        found: dict[tuple[Kind, ast.expr, ast.expr], Conflict] = {}
        for call in self._runs:
            for conflict in self._of(call):
                found.setdefault((conflict.kind, conflict.first, conflict.second), conflict)
        return list(found.values())

    @property
    def _runs(self) -> list[ast.Call]:
        """What sessions run of graphs. A session may come from another module: then its name says so."""
        eager = self.module.calls_of("tensorflow.compat.v1.enable_eager_execution")
        if eager or self.sites.tapes:
            return []
        return [call for call in self.sites.graph.all_runs if self._is_run(call)]

    def _is_run(self, call: ast.Call) -> bool:
        session = _session(call)
        return session is not None and self.sites.graph.is_session(session)

    def _of(self, call: ast.Call) -> Iterator[Conflict]:
        reading = Reading(self.module, self.sites, self.syntax.owner(call))
        try:
            fetches = list(dict.fromkeys(reading.fetched(self.sites.graph.fetches(call))))
        except TooMuch:
            return
        run = Run(reading.ops.values(), fetches)
        variables = {op.variable for op in run.ops.values() if op.is_stateful and op.does is not Does.READ}
        for variable in sorted(variables):
            about = _about(run, variable)
            if 2 <= sum(op.is_stateful for op in about.ops.values()) <= _MOST:
                yield from self._judged(call, reading, about)

    def _judged(self, call: ast.Call, reading: Reading, run: Run) -> Iterator[Conflict]:
        for race in run.races:
            one, other = (run.ops[name] for name in (race.first, race.second))
            kind = _kind(reading, one, other)
            if kind is None or self._may_be_ordered(reading, one, other):
                continue
            first, second = sorted((one, other), key=lambda op: position(reading.nodes[op.name]))
            fetched = {one.name, other.name} & set(run.fetches)
            yield Conflict(
                kind,
                reading.nodes[first.name],
                reading.nodes[second.name],
                call,
                reading.texts[first.name],
                first.does is Does.READ,
                bool(fetched),
                _ends(race, run, first, second),
            )

    def _may_be_ordered(self, reading: Reading, one: Op, other: Op) -> bool:
        """Whether something that the model doesn't show may order two operations."""
        nodes = [reading.nodes[op.name] for op in (one, other)]
        if any(reading.is_open(node) for node in nodes) or nodes[0] is nodes[1]:
            return True
        return self._leads(reading, *nodes) or self._leads(reading, nodes[1], nodes[0])

    def _leads(self, reading: Reading, source: ast.expr, node: ast.expr) -> bool:
        """Whether a place may contribute to another, by whatever is between them."""
        behind = [node, *reading.places.contexts(node)]
        passed = 0
        for n in self.values.depends(behind, _FOLLOWED):
            passed += 1
            if n is source:
                return True
        return passed >= _FOLLOWED - 1


def _session(call: ast.Call) -> ast.expr | None:
    """The receiver of `session.run(…)`."""
    return call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "run" else None


def _about(run: Run, variable: str) -> Run:
    """A run as far as one variable shows it: what is assigned to others is fetched instead."""
    others = {n for n, op in run.ops.items() if op.is_stateful and op.variable != variable}
    ops = [replace(op, does=Does.COMPUTE) if n in others else op for n, op in run.ops.items()]
    return Run(ops, list(dict.fromkeys([*run.fetches, *others])))


def _kind(reading: Reading, one: Op, other: Op) -> Kind | None:
    python = {one.name, other.name} & reading.calls_python
    if python:
        return Kind.CALLED_TWICE if len(python) == 2 else None
    trained = {one.name, other.name} & reading.trains
    does = {one.does, other.does}
    if Does.READ in does:
        return Kind.READ_AND_ASSIGNED if Does.ASSIGN in does else Kind.READ_AND_COUNTED
    if trained:
        return Kind.TRAINED_AND_ASSIGNED if Does.ASSIGN in does else None
    return Kind.ASSIGNED_TWICE


def _ends(race: Race, run: Run, first: Op, second: Op) -> tuple[float | None, float | None]:
    """What is read, or left in the variable, where the first is first, and where the second is."""
    reads = [
        run.fetches.index(op.name)
        for op in (first, second)
        if op.does is Does.READ and op.name in run.fetches
    ]
    ends = {
        order.index(first.name) < order.index(second.name): known(
            (outcome.fetched[reads[0]] if reads else None) or dict(outcome.variables)[first.variable]
        )
        for order, outcome in zip(race.orders, race.outcomes, strict=True)
    }
    return ends[True], ends[False]
