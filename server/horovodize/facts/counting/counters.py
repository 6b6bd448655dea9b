"""What counts the steps of training: turns of a loop, `step += 1`, a `tf.Variable`, `optimizer.iterations`, the global step.

Where a loop is divided, all that is counted in it counts a rank's steps: size() times fewer than one process takes.
Everything that is read from such a counter (how long to go on, which rate, when to save, where to go on) must be told so."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from horovodize.facts.counting.added_numbers import AddedNumbers
from horovodize.facts.counting.any_counts import may_count
from horovodize.facts.counting.counter_kinds import (
    GLOBAL_STEPS,
    ITERATIONS,
    Counter,
    CounterKind,
    is_stored_to,
)
from horovodize.facts.counting.fetched import Fetched
from horovodize.facts.counting.graph_counts import GraphCounts
from horovodize.facts.counting.hooks import Hooks
from horovodize.facts.counting.kept_counts import KeptCounts
from horovodize.facts.counting.later_starts import LaterStarts
from horovodize.facts.counting.next_numbers import next_numbers
from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.record_counts import RecordCounts
from horovodize.facts.counting.turn_numbers import TurnNumbers
from horovodize.facts.counting.variable_additions import amount_added, within
from horovodize.facts.counting.variable_counts import VariableCounts
from horovodize.facts.counting.yielded_numbers import YieldedNumbers
from horovodize.facts.files.kept import Kept
from horovodize.python.binding import Binding
from horovodize.python.flags import Level, is_left_out
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.summary.feeding import Feeding
from horovodize.summary.sites import Sites

_DEPTH = 12
_GRAPHS = (
    CounterKind.GLOBAL_STEP,
    CounterKind.ITERATIONS,
    CounterKind.VARIABLE,
)  # begin with 0, and are read


class Counters:
    """The counters of one module."""

    def __init__(
        self, module: Module, sites: Sites, feeding: Feeding, kept: Kept, hooks: Hooks, occasions: Occasions
    ) -> None:
        self.module, self.sites, self.feeding, self.kept = module, sites, feeding, kept
        self.hooks, self.occasions = hooks, occasions
        self.syntax, self.values, self.names = module.syntax, module.values, module.names
        self.fetched, self.graph_counts = Fetched(module, sites), GraphCounts(module, sites)
        self._numbers = AddedNumbers(module, feeding, self.fetched, occasions, kept)
        self._records = RecordCounts(module, occasions, self._numbers.is_amount, self._numbers.is_constant)
        self._turns = TurnNumbers(feeding)
        self._variables = VariableCounts(
            module, sites, feeding, kept, occasions, self._numbers, self.graph_counts, self.of
        )
        self.yielded = YieldedNumbers(module, feeding, occasions, self.fetched)
        self._by_expression: dict[ast.expr, Counter | None] = {}

    def of(self, e: ast.expr, known: Iterable[ast.AST] = ()) -> Counter | None:
        """The counter whose number an expression always gives; None where it may be anything else. Not through `known`: what
        is read there has been turned into something else."""
        if not self.exist or self._of_all(e) is None:
            return None  # nor is it one where less of it is read
        passed = frozenset(known)
        return self._of(e, passed) if passed else self._of_all(e)

    @cached_property
    def exist(self) -> bool:
        """Whether anything may count at all."""
        found = may_count(self.module, self.sites, self.feeding, self.hooks, self._numbers.adds)
        return found or self._records.exist or bool(self.graph_counts.counted_eagerly)

    def _of_all(self, e: ast.expr) -> Counter | None:
        """The same where all is read as it stands; remembered, since nearly every expression is asked about, by many rules."""
        if e in self._by_expression:
            return self._by_expression[e]
        found = self._of(e, frozenset())
        if not self._variables.begun:  # what is found while a variable is being looked for may lean on that
            self._by_expression[e] = found
        return found

    def _of(self, e: ast.expr, known: frozenset[ast.AST]) -> Counter | None:
        found = self._read(e, known, _DEPTH)
        first = next(found, None)  # none else is looked for where this is none, or another one is found
        return first if first is not None and all(first.goes_with(other) for other in found) else None

    def perhaps(self, e: ast.expr) -> Counter | None:
        """What may be the global step: what a step that trains fetches beside, where it can't be seen what that is. Or the
        counter of an object that a function is handed: `trainer.step`, where all that is called so is one."""
        if isinstance(e, (ast.Attribute, ast.Subscript)) and (some := self._of_some_object(e)) is not None:
            return some
        found = self.fetched.run_of(e)
        if found is None or not any(run.call is found[0] for run in self.sites.graph.trainings):
            return None
        counted = self.occasions.counted_at(found[0]) if self.fetched.is_unseen(found[1]) else None
        return Counter(CounterKind.GLOBAL_STEP, frozenset(counted[0])) if counted is not None else None

    def _of_some_object(self, e: ast.Attribute | ast.Subscript) -> Counter | None:
        """`trainer.step`, `trainer.state["step"]` of a trainer that can't be seen."""
        whole = e if isinstance(e, ast.Attribute) else e.value
        owner = whole.value if isinstance(whole, ast.Attribute) else None
        if not isinstance(whole, ast.Attribute):
            return None
        if whole is e and (several := self._of_several_objects(whole)) is not None:
            return several
        while isinstance(owner, ast.Attribute):  # `engine.state.step`
            owner = owner.value
        bound = self.module.scopes.reaching(owner) if isinstance(owner, ast.Name) else []
        handed = bool(bound) and all(b.kind == "parameter" and not self.values.passed(b) for b in bound)
        if not handed or self.values.attribute_bindings(whole):
            return None
        found = set[Counter | None]()
        if isinstance(e, ast.Subscript):
            found = set(self._numbers.items(whole.attr, e.slice))
        else:
            anchors = [b.anchor for b in self.module.scopes.attributes.get(e.attr, ())]
            found = {self._numbers.of(self._numbers.key(a)) for a in anchors if isinstance(a, ast.Attribute)}
        return found.pop() if len(found) == 1 else None

    def _of_several_objects(self, e: ast.Attribute) -> Counter | None:
        """`self.owner.step` of one that is a trainer, or another object which has a number of that name."""
        bound = self.values.attribute_bindings(e) if isinstance(e.value, ast.Attribute) else []
        keys = {self._numbers.key(b.anchor) for b in bound if isinstance(b.anchor, ast.Attribute)}
        found = {counter for key in keys if (counter := self._numbers.of(key)) is not None}
        return found.pop() if len(keys) > 1 and len(found) == 1 and self.of(e) is None else None

    def reads(self, root: ast.AST, known: Iterable[ast.AST] = ()) -> Iterator[tuple[ast.expr, Counter]]:
        """The places in an expression or statement where a counter is read, each as a whole: `int(step.numpy())`."""
        todo, passed = [root], frozenset(known)
        while todo:
            n = todo.pop()
            if n in passed:
                continue
            if isinstance(n, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and not is_stored_to(n):
                counter = self.of(n, passed)
                if counter is not None:
                    yield n, counter
                    continue
            todo += ast.iter_child_nodes(n)

    def is_same_item(self, e: ast.Subscript, other: ast.expr) -> bool:
        """Whether two expressions are one item of one dictionary or list, also where a function is handed that."""
        return self._numbers.is_same_item(e, other)

    def given_back(self, b: Binding) -> list[tuple[str, ast.expr]]:
        """What functions give back for what they were handed: see `HandedCounts.given_back`."""
        return self._numbers.handed.given_back(b)

    def stored_in(self, e: ast.AST) -> Counter | None:
        """A counter that is kept with a checkpoint, and read in an expression."""
        if not self.listed.stored:
            return None
        return next((c for _, c in self.reads(e) if c.stored), None)

    @property
    def later(self) -> LaterStarts:
        """Which numbers stand for steps that were taken before."""
        return self._numbers.later

    @cached_property
    def listed(self) -> KeptCounts:
        """All of them."""
        return KeptCounts(self, self._variables, self._numbers, self._records)

    # ------------------------------------------------------------------ what an expression reads

    def _read(self, e: ast.expr, known: frozenset[ast.AST], depth: int) -> Iterator[Counter | None]:
        """The counters that an expression may give, None for all else."""
        if depth == 0 or e in known:
            yield None
            return
        match e:
            case ast.Name():
                yield from self._of_bindings(
                    self.module.scopes.reaching(e), self._numbers.key(e), known, depth
                )
            case ast.Attribute(attr=attr) if attr in ITERATIONS and not self.values.attribute_bindings(e):
                yield self._variables.iterations if self._variables.is_optimizer(e.value) else None
            case ast.Attribute() if supervisors := self.sites.supervisors_of_step(e):
                for made in supervisors:
                    step = argument(made, "global_step", 10)
                    counter = self._variables.global_step
                    yield from self._read(step, known, depth - 1) if step is not None else [counter]
            case ast.Attribute(attr="value") if not (
                self.values.attribute_bindings(e) or self.values.read_by(e)
            ):  # of Keras 3's variables, and no property of the program's
                yield from self._read(e.value, known, depth - 1)
            case ast.Attribute():
                bindings = self.values.attribute_bindings(e)
                if (record := self._records.of(e)) is not None:
                    yield record
                elif bindings:
                    yield from self._of_bindings(bindings, self._numbers.key(e), known, depth)
                elif given := self.values.read_by(e):
                    for value in given:
                        yield from self._read(value, known, depth - 1)
                else:
                    yield from self._of_variables(e, known, depth)
            case ast.IfExp(body=body, orelse=other):  # `int(checkpoint.step) if found else 0`
                cases = [e for e in (body, other) if not _is_zero(e)]
                found = [c for e in cases for c in self._read(e, known, depth - 1)]
                yield from found if all(c is not None and c.kind in _GRAPHS for c in found) else [None]
            case ast.NamedExpr(target=target):  # `(n := n + 1) % 100`
                yield from self._of_bindings([], self._numbers.key(target), known, depth)
            case ast.Call():
                yield from self._of_call(e, known, depth)
            case ast.Subscript():
                number = self._numbers.item(e) or self._records.of(e)
                yield from [number] if number is not None else self._of_item(e, known, depth)
            case _:
                yield None

    def _of_bindings(
        self, bindings: list[Binding], key: object, known: frozenset[ast.AST], depth: int
    ) -> Iterator[Counter | None]:
        number = self._numbers.of(key) or self._numbers.among(bindings)
        if number is not None:
            yield number
            return
        if not bindings:
            yield None
        begun = [b for b in bindings if _is_none_yet(b)]
        if begun and len(begun) < len(bindings) and not self._turns.after_their_start(bindings):
            later = [b for b in bindings if b not in begun]
            found = list(self._of_bindings(later, key, known, depth))
            yield from found if all(c is not None and c.kind in _GRAPHS for c in found) else [None]
            return
        turns = self._turns.after_their_start(bindings)
        if turns:
            yield from self._of_bindings(turns, key, known, depth)
            return
        for b in bindings:
            if b.kind == "item" and isinstance(b.statement, (ast.For, ast.AsyncFor)):
                yield from self._of_turn(b.statement, b.path, known, depth)
            elif b.kind == "parameter":
                yield from self._of_parameter(b, known, depth)
            elif b.kind == "assign" and b.value is not None:
                if (
                    b.path
                    and isinstance(b.value, ast.Call)
                    and isinstance(self.values.callee(b.value), FUNCTIONS)
                ):
                    yield from self._of_returned(b.value, b.path, known, depth)
                elif (record := self._records.of_part(b.value, b.path)) is not None:
                    yield record
                else:
                    part = self.fetched.part(b.value, b.path)
                    yield from self._read(_counted(part), known, depth - 1) if part is not None else [None]
            else:
                yield None

    def _of_turn(
        self, loop: ast.For | ast.AsyncFor, path: tuple[int, ...], known: frozenset[ast.AST], depth: int
    ) -> Iterator[Counter | None]:
        number = self._turns.of(loop, path) or self.yielded.number(loop.iter, path)
        given = self.yielded.given(loop.iter, path) if number is None else None
        if given is None:
            yield number
            return
        for part in given:
            yield from self._read(part, known, depth - 1)

    def _of_parameter(self, b: Binding, known: frozenset[ast.AST], depth: int) -> Iterator[Counter | None]:
        passed = self.values.passed(b)
        for value in passed:
            yield from self._read(value, known, depth - 1)
        if not passed:
            hook = self.hooks.of(b.statement)
            yield (
                self._variables.batches
                if hook is not None and hook.is_of_batches and b.name == hook.number
                else None
            )

    def _of_call(self, call: ast.Call, known: frozenset[ast.AST], depth: int) -> Iterator[Counter | None]:
        inner = within(self.names.last(call.func), call)
        if inner is not None and self.values.callee(call) is None:
            yield from self._read(inner, known, depth - 1)
        elif self.names.of(call.func) in GLOBAL_STEPS:
            yield self._variables.global_step or self._variables.of(call)
        elif self.names.of(call.func) == "tensorflow.compat.v1.train.global_step" and len(call.args) == 2:
            yield from self._read(call.args[1], known, depth - 1)
        elif call in self.sites.graph.all_runs:
            fetched = argument(call, "fetches", 0)
            yield from self._read(fetched, known, depth - 1) if fetched is not None else [None]
        elif isinstance(self.values.callee(call), FUNCTIONS):
            yield from self._of_returned(call, (), known, depth)
        elif call in self._next_numbers:
            yield self._next_numbers[call]
        elif self.graph_counts.reads_of_estimator(call):
            yield self._variables.global_step
        elif (variable := self._added_to(call)) is not None:
            yield from self._read(variable, known, depth - 1)
        else:
            yield self._variables.of(call)

    def _added_to(self, call: ast.Call) -> ast.expr | None:
        """The variable that a call adds to, whose new number it gives: of `n = step.assign_add(1)` `step`."""
        if self.names.of(call.func) in ("tensorflow.compat.v1.assign", "tensorflow.compat.v1.assign_add"):
            return call.args[0] if call.args and self.graph_counts.counts(call) else None
        adds = isinstance(call.func, ast.Attribute) and amount_added(call) is not None
        return call.func.value if adds and isinstance(call.func, ast.Attribute) else None

    @cached_property
    def _next_numbers(self) -> dict[ast.Call, Counter]:
        return next_numbers(self.module, self.occasions)

    def _of_item(self, e: ast.Subscript, known: frozenset[ast.AST], depth: int) -> Iterator[Counter | None]:
        """`results[1]` of what a run fetched, or of what a function returned or yielded."""
        if self.graph_counts.is_evaluated_step(e):
            yield self._variables.global_step
            return
        entries = self.yielded.item(e)
        if entries is not None:
            for entry in entries:
                yield from self._read(entry, known, depth - 1)
            return
        fetched = self.fetched.item(e)
        origins = (
            [(fetched, ())] if fetched is not None else [(o.node, o.path) for o in self.values.origins(e)]
        )
        for node, path in origins:
            is_read = isinstance(node, ast.expr) and node is not e and not path
            yield from self._read(node, known, depth - 1) if is_read else [None]  # type: ignore[arg-type]

    def _of_returned(
        self, call: ast.Call, path: tuple[int, ...], known: frozenset[ast.AST], depth: int
    ) -> Iterator[Counter | None]:
        """What a function gives back: of `loss, train_op, step = build()` what it returns as its third."""
        function = self.values.callee(call)
        assert isinstance(function, FUNCTIONS)
        returned = [
            value
            for value in self.values.returned(function)
            if not is_left_out(self.module, [Level(value, function, call)])
        ]
        for value in returned:
            part = self.fetched.part(value, path) if self.values.path_in(value, path) == path else None
            yield from self._read(part, known, depth - 1) if part is not None else [None]
        if not returned:
            yield None

    def _of_variables(self, e: ast.expr, known: frozenset[ast.AST], depth: int) -> Iterator[Counter | None]:
        fetched = self.fetched.fetches(e)
        if fetched is not None:  # `run_values.results` of a hook
            yield from self._read(fetched, known, depth - 1)
            return
        if self.sites.builds_graph and any(
            self.fetched.same(e, step) for step in self.graph_counts.global_steps
        ):
            yield self._variables.global_step
            return
        for origin in self.values.origins(e):
            yield self._variables.of(origin.call) if origin.call is not None else None


def _is_none_yet(b: Binding) -> bool:
    """`step = 0` before `_, step = session.run([train, global_step])`: the count before the first step."""
    return b.kind == "assign" and not b.path and _is_zero(b.value)


def _is_zero(e: ast.expr | None) -> bool:
    return isinstance(e, ast.Constant) and type(e.value) is int and e.value == 0


def _counted(e: ast.expr) -> ast.expr:
    """What a name counts that is given `i + 1`: as many steps, from another number on."""
    moved = isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub))
    by_number = moved and isinstance(e, ast.BinOp) and isinstance(e.right, ast.Constant)
    return e.left if by_number and isinstance(e, ast.BinOp) else e


__all__ = ["Counters"]
