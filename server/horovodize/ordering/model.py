"""What may come of one run of a graph: operations on variables, the edges that order them, and nothing else that does.

A run executes what it fetches, and what that needs by data and control edges; each operation once, after all that leads to
it, otherwise in any order. A read gives the value of that moment, an assignment is done at once.

That is what resource variables do. `tests/ordering` compares: of thousands of random graphs in TensorFlow 2.15, no run gave
what this model excludes. Reference variables (those of TensorFlow 1, and of `tf.disable_v2_behavior()`) may show more: a read
there may be the variable's own memory, in which a later assignment shows, even one that a control edge orders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

# A sum: how often each unknown is in it; that of `1` is the number.
Value: TypeAlias = frozenset[tuple[Hashable, float]]
_NUMBER = 1


class Does(Enum):
    """What an operation does."""

    GIVE = "give"  # a value of its own
    SUM = "sum"  # of its inputs
    COMPUTE = "compute"  # something else of its inputs
    READ = "read"
    ASSIGN = "assign"
    ADD = "add"
    SUBTRACT = "subtract"


_ADDING = (Does.ADD, Does.SUBTRACT)
_STATEFUL = (Does.READ, Does.ASSIGN, *_ADDING)


@dataclass(frozen=True)
class Op:
    """An operation. `inputs` are data edges, `after` control edges; `value` is what it gives, if it has one of its own."""

    name: str
    does: Does
    variable: str = ""
    inputs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    value: Value = frozenset()

    @property
    def is_stateful(self) -> bool:
        return self.does in _STATEFUL


@dataclass(frozen=True)
class Outcome:
    """What a run leaves in the variables, and what it gives for the fetches (None for one without a value)."""

    variables: tuple[tuple[str, Value], ...]
    fetched: tuple[Value | None, ...]


@dataclass(frozen=True)
class Race:
    """Two operations on a variable that nothing orders, and two orders, equal but for them, that end differently."""

    first: str
    second: str
    orders: tuple[tuple[str, ...], tuple[str, ...]]
    outcomes: tuple[Outcome, Outcome]


def number(value: float) -> Value:
    return frozenset([(_NUMBER, value)] if value else [])


def unknown(name: Hashable) -> Value:
    """A value of which nothing is known but that it's the same wherever this name stands."""
    return frozenset([(("unknown", name), 1.0)])


def known(value: Value) -> float | None:
    """The number that a value is."""
    parts = dict(value)
    return parts.get(_NUMBER, 0) if set(parts) <= {_NUMBER} else None


def total(values: Iterable[Value], sign: float = 1) -> Value:
    """The first of some values, and `sign` times each of the others."""
    parts: dict[Hashable, float] = {}
    for index, value in enumerate(values):
        for what, times in value:
            parts[what] = parts.get(what, 0) + (times if index == 0 else sign * times)
    return frozenset((what, times) for what, times in parts.items() if times)


@dataclass(frozen=True)
class _State:
    """How far a run has come. `values`: what operations gave that is still needed."""

    done: frozenset[str]
    variables: frozenset[tuple[str, Value]]
    values: frozenset[tuple[str, Value]]


class Run:
    """One run of some fetches. `starts`: what variables hold before it; unknown where it isn't said."""

    def __init__(
        self, ops: Iterable[Op], fetches: Sequence[str], starts: Mapping[str, Value] | None = None
    ) -> None:
        self._given = {op.name: op for op in ops}
        self.fetches = tuple(fetches)
        self.above: dict[str, frozenset[str]] = {}
        for name in self.fetches:
            self._climb(name)
        self.ops = {name: self._given[name] for name in self.above}
        self._starts = {
            op.variable: unknown(op.variable) for op in self.ops.values() if op.is_stateful
        } | dict(starts or {})
        self._users: dict[str, set[str]] = {name: set() for name in self.ops}
        for op in self.ops.values():
            for name in op.inputs:
                self._users[name].add(op.name)

    def _climb(self, name: str) -> frozenset[str]:
        """All operations that lead to one."""
        if name not in self.above:
            op = self._given[name]
            direct = (*op.inputs, *op.after)
            self.above[name] = frozenset(direct).union(*(self._climb(n) for n in direct))
        return self.above[name]

    # ------------------------------------------------------------------ what may come of it

    @cached_property
    def outcomes(self) -> frozenset[Outcome]:
        """All that may come of it."""
        return frozenset(self._outcome(state) for state in self._reached if self._is_over(state))

    @cached_property
    def _reached(self) -> dict[_State, tuple[str, ...]]:
        """Every state that the run may come to, with an order that leads there."""
        first, order = self._settle(_State(frozenset(), frozenset(self._starts.items()), frozenset()), ())
        found, todo = {first: order}, [first]
        while todo:
            state = todo.pop()
            for name in self._ready(state):
                after, order = self._step(state, found[state], name)
                if after not in found:
                    found[after] = order
                    todo.append(after)
        return found

    def _ready(self, state: _State) -> Iterator[str]:
        return (n for n, above in self.above.items() if n not in state.done and above <= state.done)

    def _step(self, state: _State, order: tuple[str, ...], name: str) -> tuple[_State, tuple[str, ...]]:
        """What follows an operation, and the computing that is ready then: when that is done shows nowhere."""
        return self._settle(self._do(state, name), (*order, name))

    def _settle(self, state: _State, order: tuple[str, ...]) -> tuple[_State, tuple[str, ...]]:
        while (
            name := next((n for n in self._ready(state) if not self.ops[n].is_stateful), None)
        ) is not None:
            state, order = self._do(state, name), (*order, name)
        return state, order

    def _do(self, state: _State, name: str) -> _State:
        op, variables, values = self.ops[name], dict(state.variables), dict(state.values)
        inputs = [values[n] for n in op.inputs]
        match op.does:
            case Does.GIVE:
                values[name] = op.value
            case Does.SUM:
                values[name] = total(inputs)
            case Does.COMPUTE:
                values[name] = unknown((name, *inputs))
            case Does.READ:
                values[name] = variables[op.variable]
            case Does.ASSIGN:
                variables[op.variable] = inputs[0]
            case Does.ADD | Does.SUBTRACT:
                sign = 1 if op.does is Does.ADD else -1
                variables[op.variable] = total([variables[op.variable], inputs[0]], sign)
        done = state.done | {name}
        needed = {n: v for n, v in values.items() if n in self.fetches or not self._users[n] <= done}
        return _State(done, frozenset(variables.items()), frozenset(needed.items()))

    def _is_over(self, state: _State) -> bool:
        return len(state.done) == len(self.ops)

    def _outcome(self, state: _State) -> Outcome:
        values = dict(state.values)
        variables = tuple(sorted(state.variables, key=lambda item: item[0]))
        return Outcome(variables, tuple(values.get(name) for name in self.fetches))

    # ------------------------------------------------------------------ races

    @cached_property
    def races(self) -> list[Race]:
        """The pairs whose order matters and that nothing orders."""
        found = (self._race(a, b) for a, b in combinations(self.ops.values(), 2) if self._may_race(a, b))
        return [race for race in found if race is not None]

    def _may_race(self, a: Op, b: Op) -> bool:
        if not (a.is_stateful and b.is_stateful) or a.variable != b.variable:
            return False
        if a.does is b.does is Does.READ or (a.does in _ADDING and b.does in _ADDING):
            return False
        return a.name not in self.above[b.name] and b.name not in self.above[a.name]

    def _race(self, a: Op, b: Op) -> Race | None:
        seen: set[tuple[_State, _State]] = set()
        for state, order in self._reached.items():
            if {a.name, b.name} <= set(self._ready(state)):
                one = self._step(*self._step(state, order, a.name), b.name)
                other = self._step(*self._step(state, order, b.name), a.name)
                if (ends := self._part(one, other, seen)) is not None:
                    (x, x_order), (y, y_order) = ends
                    outcomes = self._outcome(x), self._outcome(y)
                    return Race(a.name, b.name, (x_order, y_order), outcomes)
        return None

    def _part(
        self,
        one: tuple[_State, tuple[str, ...]],
        other: tuple[_State, tuple[str, ...]],
        seen: set[tuple[_State, _State]],
    ) -> tuple[tuple[_State, tuple[str, ...]], tuple[_State, tuple[str, ...]]] | None:
        """Two ends that differ, of two states that go on in the same order."""
        if one[0] == other[0] or (one[0], other[0]) in seen:
            return None
        seen.add((one[0], other[0]))
        if self._is_over(one[0]):
            return one, other
        for name in self._ready(one[0]):
            if (ends := self._part(self._step(*one, name), self._step(*other, name), seen)) is not None:
                return ends
        return None


def outcomes(
    ops: Iterable[Op], fetches: Sequence[str], starts: Mapping[str, Value] | None = None
) -> frozenset[Outcome]:
    """All that may come of a run."""
    return Run(ops, fetches, starts).outcomes


def races(ops: Iterable[Op], fetches: Sequence[str], starts: Mapping[str, Value] | None = None) -> list[Race]:
    """The pairs of a run whose order matters and that nothing orders."""
    return Run(ops, fetches, starts).races
