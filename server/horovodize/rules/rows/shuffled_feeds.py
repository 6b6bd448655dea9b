"""Which of what a program draws orders the rows that all ranks share: part of D3."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.counting.cursors import deals
from horovodize.python.syntax import FUNCTIONS, Loop, argument, position
from horovodize.rules.drafting.decisions import Apart, InRounds, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import draws_for_all, draws_for_itself, feeding
from horovodize.rules.rows import drawn_orders
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Frame
from horovodize.summary.feeding import Driver, FitFeed, Kind

BY_WORKERS = (
    "imap",
    "imap_unordered",
    "map",
    "map_async",
    "starmap",
    "starmap_async",
    "apply_async",
    "submit",
    "Process",
    "Thread",
)
_BY_GRAPH = ("py_func", "py_function", "numpy_function", "eager_py_func")
_LIMIT = 3000  # nodes that are looked at behind the data for functions that shuffle it


class Feeds:
    """What comes before the places where rows are dealt out."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.syntax = draft, draft.syntax
        known = feeding(draft)
        shared = [f for f in known.fits if _is_shared(draft, f)]
        self.loops = [d.loop for d in known.drivers if _deals(draft, d)]
        self.places: list[Loop | ast.Call] = [*self.loops, *(f.fit.call for f in shared)]
        data = [d.iterable for d in known.drivers if _deals(draft, d) and d.iterable is not None]
        # generators of which all ranks draw each other's batches
        asked = [c for c in draft.having(Shared) if isinstance(c, ast.Call) and draws_for_all(draft, c)]
        data += [c.args[0] for c in asked if draft.names.last(c.func) == "next" and c.args]
        drawn = [e for d in known.drivers for e in known.next_calls(d)]
        data += [e for e in drawn if any(draft.was(p, Shared) for p in known.pipelines.trail(e))]
        self.sources = set(self._sources([*data, *(f.x for f in shared)]))

    def _sources(self, data: list[ast.expr]) -> Iterator[ast.AST]:
        """The generator functions and `Sequence` classes that give data, and the functions they call."""
        known, values = feeding(self.draft), self.draft.values
        for e in data:
            found: list[ast.AST | None] = [known.kinds.generator(e)]
            # also of functions that return a list which they shuffle
            made_by = [n for n in values.depends([e], _LIMIT) if isinstance(n, ast.Call)]
            for made in (*values.calls(e), *made_by):
                found.append(values.callee(made))
            for step in known.pipelines.trail(e):
                if isinstance(step, ast.Call) and self.draft.names.last(step.func) == "from_generator":
                    given = argument(step, "generator", 0)
                    found += (
                        [o.node for o in values.origins(given) if not o.path] if given is not None else []
                    )
            for one in found:
                if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
                    yield one

    def prepares(self, call: ast.Call) -> bool:
        """Whether a call is made in no loop that trains: it prepares data. What a generator function does before it yields is
        its own matter: each rank's, where each draws its batches for itself, and else an order in which they are dealt out."""
        ways = [way for way in self.draft.drive.ways(call) if not any(_generates(f.function) for f in way)]
        training = self._training
        return any(not any(training.intersection(f.loops) for f in way) for way in ways) and not self._draws(
            call
        )

    @cached_property
    def _training(self) -> set[Loop]:
        """The loops that train, or that something in them trains."""
        known = feeding(self.draft)
        places = [*(d.loop for d in known.drivers), *(f.fit.call for f in known.fits)]
        ways = (way for place in places for way in self.draft.drive.ways(place))
        return {d.loop for d in known.drivers} | {loop for way in ways for f in way for loop in f.loops}

    def is_drawn_elsewhere(self, call: ast.Call, by: tuple[str, ...] = (*_BY_GRAPH, *BY_WORKERS)) -> bool:
        """Whether a call stands in a function that is given to a graph, which runs it for each batch that it needs, in threads
        of its own (`tf.py_func(draw_task, …)`), or to workers (`pool.map(load, paths)`), which know no Horovod."""
        ends = {way[-1].function for way in self.draft.drive.ways(call)}
        return any(self._is_run_by(f, by) for f in ends)

    def _is_run_by(self, function: ast.AST | None, by: tuple[str, ...]) -> bool:
        if not isinstance(function, FUNCTIONS):
            return False
        named = [n for n in self.draft.module.loads.get(function.name) if isinstance(n, ast.Name)]
        of_objects = (n for n in self.syntax.every(ast.Attribute) if n.attr == function.name)
        is_method = self.syntax.method_class(function) is not None
        return any(self._runs(n, by) for n in (of_objects if is_method else named))

    def _runs(self, given: ast.expr, by: tuple[str, ...]) -> bool:
        around = self.syntax.parent[given]
        call = self.syntax.parent[around] if isinstance(around, ast.keyword) else around
        if not isinstance(call, ast.Call) or call.func is given:
            return False
        last = self.draft.names.last(call.func)
        if last == "map":
            is_built_in = isinstance(call.func, ast.Name)  # runs it here, one after the other
            if is_built_in or feeding(self.draft).pipelines.is_dataset(call):
                return False
        return last in by

    def depends_on(self, call: ast.Call) -> bool:
        """Whether what is trained on depends on a draw: not on one that picks an example to show."""
        return any(r.where is call for e in self._data for r in self.draft.uniform.reasons(e))

    @cached_property
    def _data(self) -> list[ast.expr]:
        """What is trained on: what `fit` is given, what loops iterate, what they read from outside."""
        known = feeding(self.draft)
        data = [e for f in known.fits for e in (f.x, f.y, f.weight) if e is not None]
        for driver in known.drivers:
            data += [driver.iterable] if driver.iterable is not None else []
            body = (n for s in driver.loop.body for n in ast.walk(s))
            data += [n for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        return data

    def orders(self, call: ast.Call) -> bool:
        """Whether a call makes the order in which rows are then dealt out: before the loop, or in what feeds it."""
        for way in self.draft.drive.ways(call):
            if any(frame.function is not None and self.draft.was(frame.function, Apart) for frame in way):
                continue  # in a generator that each rank asks for batches of its own
            for frame in way:
                if any(a in self.sources for a in (frame.function, *self.syntax.ancestors(frame.node))):
                    return True
                if self._is_drawn_by_all(frame):
                    return True
                if any(
                    self._comes_before(frame.node, place) or self._is_drawn_anew(frame.node, place)
                    for place in self.places
                ):
                    return True
        return False

    def is_drawn_by_all(self, call: ast.Call) -> bool:
        """Whether all ranks come to a call alike as they draw all of each other's batches."""
        return any(self._is_drawn_by_all(frame) for way in self.draft.drive.ways(call) for frame in way)

    def _is_drawn_by_all(self, frame: Frame) -> bool:
        return draws_for_all(self.draft, frame.node)

    def _comes_before(self, node: ast.AST, place: Loop | ast.Call) -> bool:
        if isinstance(place, (ast.For, ast.AsyncFor)) and self.syntax.inside(node, place.iter):
            return True  # `for i in np.random.permutation(n):`
        alike = self.syntax.function(node) is self.syntax.function(place)
        before = isinstance(node, ast.expr) and position(node) < position(place)
        return alike and before and not self.syntax.inside(node, place)

    def _is_drawn_anew(self, node: ast.AST, place: Loop | ast.Call) -> bool:
        """`if step % batches == 0: order = permutation(n)` in a loop of which each rank takes its own numbers."""
        if not self.syntax.inside(node, place):
            return False
        known = feeding(self.draft)
        moved_on = any(d.loop is place and deals(known, d) for d in known.drivers)
        if not moved_on and not self.draft.was(place, InRounds):
            return False
        return any(self.syntax.inside(decision, place) for decision, _ in self.syntax.conditions(node))

    def _draws(self, call: ast.Call) -> bool:
        """Whether a call gives a step its own random batch: ranks have to draw differently there. So it does in a function that
        makes one batch, whoever else asks for one: `x, y = get_batch(100)` before the loop, to look at or to test with."""
        loops = {d.loop for d in feeding(self.draft).drivers}
        if any(self.syntax.inside(call, loop) for loop in loops):
            return True
        if not drawn_orders.is_of_one_call(self.draft, call):
            return False
        return any(loops.intersection(f.loops) for way in self.draft.drive.ways(call) for f in way)


def _is_shared(draft: Draft, fed: FitFeed) -> bool:
    """Whether the data of a `fit` is divided: at the call, or where the pipeline is made that it gets."""
    made = feeding(draft).pipelines.trail(fed.x) if fed.kind is Kind.DATASET else ()
    return any(draft.was(e, Shared) for e in (fed.x, *made)) and not draws_for_itself(draft, fed.x)


def _generates(function: ast.AST | None) -> bool:
    """Whether a function is a generator."""
    return isinstance(function, FUNCTIONS) and any(
        isinstance(n, (ast.Yield, ast.YieldFrom)) for s in function.body for n in walk(s)
    )


def _deals(draft: Draft, driver: Driver) -> bool:
    """Whether a loop deals rows out in some order: not batches that each rank draws for itself."""
    if driver.iterable is not None and draws_for_itself(draft, driver.iterable):
        return False
    if driver.indexed or driver.kind is not Kind.RANGE:
        return True
    return deals(feeding(draft), driver) and not draft.facts.drawn_rows.are_drawn(driver)
