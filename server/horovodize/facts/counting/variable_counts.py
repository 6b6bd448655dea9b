"""What counts the steps of training without a name of Python's: a `tf.Variable`, `optimizer.iterations`, the global step."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property

from horovodize.facts.counting.added_numbers import AddedNumbers
from horovodize.facts.counting.counter_kinds import GLOBAL_STEPS, Counter, CounterKind
from horovodize.facts.counting.float_counts import FloatCounts
from horovodize.facts.counting.graph_counts import GraphCounts
from horovodize.facts.counting.occasions import Occasions
from horovodize.facts.counting.variable_additions import amount_added
from horovodize.facts.files.kept import VARIABLES, Kept, first_value
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.feeding import Driver, Feeding
from horovodize.summary.sites import Sites


class VariableCounts:
    """The variables of one module that count, and what TensorFlow counts itself.

    count   the counter whose number an expression gives
    begun   how many variables are being looked for: what is found meanwhile may lean on that"""

    def __init__(
        self,
        module: Module,
        sites: Sites,
        feeding: Feeding,
        kept: Kept,
        occasions: Occasions,
        numbers: AddedNumbers,
        graph_counts: GraphCounts,
        count: Callable[[ast.expr], Counter | None],
    ) -> None:
        self.module, self.sites, self.feeding, self.kept = module, sites, feeding, kept
        self.values, self.names = module.values, module.names
        self.occasions, self.numbers, self.graph_counts = occasions, numbers, graph_counts
        self._count, self._floats = count, FloatCounts(module)
        self._known: dict[ast.Call, Counter | None] = {}
        self.begun = 0

    def of(self, made: ast.Call) -> Counter | None:
        """The counter that a variable is: made here, and added to with each step."""
        if made not in self._known:
            self._known[made] = None  # what is set from itself
            self.begun += 1
            self._known[made] = self._find_variable(made)
            self.begun -= 1
        return self._known[made]

    def _find_variable(self, made: ast.Call) -> Counter | None:
        is_global = self.names.of(made.func) in GLOBAL_STEPS
        if self.names.of(made.func) not in VARIABLES and not is_global and not _is_added_to_layer(made):
            return None
        if made in self.graph_counts.global_step_variables:
            return self.global_step
        if (
            self.sites.builds_graph or is_global
        ):  # the latter counted by hand, `tf.assign_add(global_step, 1)`
            return self._graph_variable(made)
        if made in self.graph_counts.counted_eagerly:
            return self.global_step
        added = [c for c in self._added if self._is_made(made, c)]
        in_floats = self._floats.counts(made, [amount_added(c) for c in added])
        drivers, fitted = set[Driver](), False
        for call in added:
            counted = self.occasions.counted_at(call)
            if (
                counted is None
                or not (self.numbers.is_amount(amount_added(call)) or in_floats)
                or self.occasions.are_seldom(call, counted[0])
            ):
                return None
            drivers |= counted[0]
            fitted |= counted[1]
        start = first_value(made)
        starts = (start,) if start is not None else ()
        if not added:
            return self._mirrored(made)
        stored = any(made in self.values.calls(kept) for kept in self.kept.all)
        stored = stored or any(map(self.numbers.later.is_one, starts))
        rows = not in_floats and not all(self.numbers.is_constant(amount_added(c)) for c in added)
        return Counter(
            CounterKind.VARIABLE, frozenset(drivers), fitted, tuple(added), starts, stored, made, rows
        )

    def _graph_variable(self, made: ast.Call) -> Counter | None:
        """The same of a graph, where each run of an operation counts."""
        runs = self.graph_counts.runs(made)
        found = [self.occasions.counted_at(run) for run in runs]
        if not runs or any(
            c is None or self.occasions.are_seldom(r, c[0]) for r, c in zip(runs, found, strict=True)
        ):
            return None
        drivers = frozenset(d for c in found if c is not None for d in c[0])
        return Counter(CounterKind.VARIABLE, drivers, made=made)

    def _mirrored(self, made: ast.Call) -> Counter | None:
        """The counter that a variable is set from: `checkpoint.step.assign(step + 1)`."""
        calls = self.sites.method_calls("assign")
        found = set[Counter | None]()
        for value in (argument(c, "value", 0) for c in calls if self._is_made(made, c)):
            plus = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
            read = value.left if plus and isinstance(value, ast.BinOp) else value
            found.add(self._count(read) if read is not None else None)
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _added(self) -> list[ast.Call]:
        """The calls that add to a variable at once."""
        calls = self.sites.method_calls("assign_add", "assign")
        return [c for c in calls if amount_added(c) is not None]

    def _is_made(self, made: ast.Call, call: ast.Call) -> bool:
        assert isinstance(call.func, ast.Attribute)
        return made in self.values.calls(call.func.value)

    def is_optimizer(self, e: ast.expr) -> bool:
        meant = [e, *(o.node for o in self.values.origins(e) if not o.path)]
        if any(isinstance(n, ast.Attribute) and n.attr == "optimizer" for n in meant):
            return True
        return any(self.module.is_optimizer(c) for c in self.values.calls(e))

    @cached_property
    def iterations(self) -> Counter:
        """What an optimizer counts: the steps of all loops, and of `fit`."""
        fitted = any(f.method != "train_on_batch" for f in self.sites.fits)
        return Counter(CounterKind.ITERATIONS, frozenset(self.feeding.drivers), fitted)

    @cached_property
    def batches(self) -> Counter:
        return Counter(CounterKind.BATCH, frozenset(), fitted=True)

    @cached_property
    def global_step(self) -> Counter | None:
        """The global step, where a train op counts it."""
        counts = self.graph_counts
        in_graph = counts.counts_graphs or counts.global_steps
        if not (in_graph if self.sites.builds_graph else counts.counted_eagerly):
            return None
        return Counter(CounterKind.GLOBAL_STEP, frozenset(self.feeding.drivers))


def _is_added_to_layer(made: ast.Call) -> bool:
    """`self.add_weight(name="step", initializer="zeros", trainable=False)` of a layer or a model"""
    func, trained = made.func, argument(made, "trainable")
    is_kept = isinstance(trained, ast.Constant) and trained.value is False
    return isinstance(func, ast.Attribute) and func.attr == "add_weight" and is_kept


__all__ = ["VariableCounts"]
