"""Training data that can't be divided: every rank trains on all of them, so neither rate nor steps may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.feeds.set_back import SetBack
from horovodize.python.module import Module
from horovodize.python.once import once
from horovodize.python.syntax import FUNCTIONS
from horovodize.summary.call_paths import Drive
from horovodize.summary.dataset_methods import ONCE
from horovodize.summary.feeding import Driver, Feeding, FitFeed, Kind
from horovodize.summary.site_kinds import Fit
from horovodize.summary.sites import Sites
from horovodize.summary.sparse_inputs import takes_sparse

_SPARSE = (
    "tensorflow.sparse.",
    "tensorflow.SparseTensor",
    "scipy.sparse.",
    "tensorflow.ragged.",
    "tensorflow.RaggedTensor",
)
_DENSE = ("to_dense", "sparse_dense_matmul", "reduce_sum", "reduce_max", "to_tensor")


class Undivided:
    """Which data of one module stay whole on every rank, wherever they are looked at from."""

    def __init__(self, module: Module, sites: Sites, drive: Drive, feeding: Feeding) -> None:
        self.module, self.sites, self.drive, self.feeding = module, sites, drive, feeding
        self._set_back = SetBack(module, sites)
        self._places: dict[ast.expr, list[ast.expr]] = {}
        self._of: tuple[ast.expr, ...] = ()
        self._methods: dict[Driver, ast.AST | None] = {}

    # ------------------------------------------------------------------ steps

    def trains_on_all(self, site: ast.Call) -> bool:
        """Whether every rank takes this step on all of the data, as these can't be divided."""
        fed = self.feeding.fit_of(site)
        if fed is not None:
            return self.is_fit(fed)
        if any(fit.call is site for fit in self.hidden_fits):
            return True
        loops = [driver for driver in self.feeding.drivers if site in driver.steps]
        if any(self.is_loop(driver) for driver in loops):
            return True
        runs = any(run.call is site for run in self.sites.graph.trainings)
        iterated = self.feeding.graph_iterated if runs else []
        return bool(iterated) and all(self.is_whole(e) for e in iterated)

    @cached_property
    def hidden_fits(self) -> list[Fit]:
        """The `fit` calls whose data come by `*` or `**`, and can't be seen."""
        seen = {fed.fit.call for fed in self.feeding.fits}
        return [f for f in self.sites.fits if f.method != "train_on_batch" and f.call not in seen]

    def is_fit(self, fed: FitFeed) -> bool:
        """The same of a `fit`."""
        if fed.kind is Kind.DATASET:
            return self.is_whole(fed.x)
        bound = self.feeding.bound_batches
        if bound.is_stateful(fed.x) or bound.has_fixed_batch(fed.x) or self.is_sparse(fed):
            return True
        return self.is_unseen(fed)

    def is_sparse(self, fed: FitFeed) -> bool:
        """Whether some of the arrays of a `fit` may be sparse: their rows can't be selected as those of arrays are, or belong
        together."""
        if takes_sparse(self.module, fed.fit.model):
            return True
        made = [o.node for e in (fed.x, fed.y) if e is not None for o in self.module.values.origins(e)]
        names = [self.module.names.of(n.func) or "" for n in made if isinstance(n, ast.Call)]
        return any(name.startswith(_SPARSE) and not name.endswith(_DENSE) for name in names)

    def is_unseen(self, fed: FitFeed) -> bool:
        """Whether it can't be seen what a `fit` trains on, nor is it told a number of steps that could be divided."""
        return fed.kind is Kind.UNKNOWN and fed.y is None and fed.fit.steps is None

    def is_loop(self, driver: Driver) -> bool:
        """The same of a loop over steps."""
        if self.feeding.carries_state(driver):
            return True
        if self.set_back(driver) is not None:
            return True
        own = [e for e in (driver.iterable, *self.feeding.next_calls(driver)) if e is not None]
        zipped = [a for e in own if isinstance(e, ast.Call) for a in e.args]
        return any(e in self.feeding.dataset_feeds and self.is_whole(e) for e in (*own, *zipped))

    def set_back(self, driver: Driver) -> ast.AST | None:
        """Where the weights are set by what the steps of a loop came to, whose number is then part of the method."""
        if driver not in self._methods:
            self._methods[driver] = self._set_back.place(driver)
        return self._methods[driver]

    @once
    def _is_of_a_method(self, feed: ast.expr) -> bool:
        of = [d for d in self.feeding.drivers if feed in (d.iterable, *self.feeding.next_calls(d))]
        return bool(of) and all(self.set_back(d) is not None for d in of)

    # ------------------------------------------------------------------ datasets

    def is_whole(self, feed: ast.expr) -> bool:
        """Whether a pipeline stays whole: the order of its batches means something, or there is no place to divide it."""
        if not self.feeding.pipelines.is_dataset(feed):
            return True  # of another file
        return self.feeding.bound_batches.is_stateful(feed) or self.is_in_order(feed) or not self.places(feed)

    @once
    def is_in_order(self, feed: ast.expr) -> bool:
        """Whether the steps of a loop over a pipeline hand a state on, so that its batches have an order. The loops of a graph
        name no iterator: what the graph trains on comes with each of their runs."""
        by_runs = feed in self.feeding.graph_feeds
        runs = {run.call for run in self.sites.graph.trainings} if by_runs else set[ast.Call]()
        of = (
            d
            for d in self.feeding.drivers
            if feed in (d.iterable, *self.feeding.next_calls(d)) or runs & {*d.steps}
        )
        return any(self.feeding.carries_state(d) for d in of)

    def places(self, feed: ast.expr) -> list[ast.expr]:
        """Where a pipeline is divided, so that no part of it is twice: not where it is made if another that is divided is made
        from it, or it itself in a loop's next turn (`ds = ds.concatenate(more)`), but where it is trained on."""
        if self._is_of_a_method(feed):
            return []
        feeds = tuple(self.feeding.dataset_feeds)
        if feeds != self._of:  # estimators have feeds of their own
            self._of, self._places = feeds, {f: self._possible(f) for f in feeds}
        later = {p for found in self._places.values() for p in found}
        comes_from = self.feeding.pipelines.comes_from
        found = self._places[feed] if feed in self._places else self._possible(feed)
        if not any(comes_from(p, place) for place in found for p in later):
            return found
        return [] if self._is_iterator(feed) or self.drive.in_traced(feed) else [feed]

    def _possible(self, feed: ast.expr) -> list[ast.expr]:
        known = self.feeding
        fixed = known.bound_batches.has_fixed_batch(feed)
        found = known.pipelines.places(feed, known.dataset_feeds, fixed)

        def is_made(p: ast.expr) -> bool:
            """Whether the iterator that a function gives is divided where that makes it."""
            return isinstance(p, ast.Call) and bool(
                known.pipelines.places_inside(p, known.dataset_feeds, fixed)
            )

        return [p for p in found if not self._is_iterator(p) or is_made(p)]

    def _is_iterator(self, e: ast.expr, depth: int = 4) -> bool:
        """Whether an expression is an iterator, which has no `shard`."""
        if isinstance(e, ast.Call):
            callee = self.module.values.callee(e)
            if isinstance(callee, FUNCTIONS):  # of the program, which gives one
                returned = self.module.values.returned(callee)
                return depth > 0 and any(self._is_iterator(r, depth - 1) for r in returned)
            return self.module.names.last(e.func) in (*ONCE, "make_one_shot_iterator", "as_numpy_iterator")
        if isinstance(e, (ast.Name, ast.Attribute)):
            pipelines = self.feeding.pipelines
            given = (v for b in pipelines.bindings(e) for v in pipelines.given(b))
            return any(self._is_iterator(v, depth) for v in given if isinstance(v, ast.Call))
        return isinstance(e, ast.Subscript) and any(
            self._is_iterator(v, depth) for v in self._held_in(e.value)
        )

    def _held_in(self, e: ast.expr) -> Iterator[ast.Call]:
        """The calls whose results a list or dict may hold: `iter(a)` of `batches = [iter(a), iter(b)]`, of
        `batches[name] = iter(a)`."""
        bound = self.feeding.pipelines.bindings(e) if isinstance(e, (ast.Name, ast.Attribute)) else []
        found = list[ast.expr | None]()
        for value in (b.value for b in bound if not b.path):
            match value:
                case ast.List(elts=held) | ast.Tuple(elts=held) | ast.Dict(values=held):
                    found += held
                case ast.ListComp(elt=one) | ast.DictComp(value=one):
                    found.append(one)
        text = ast.unparse(e)
        for s in self.module.syntax.every(ast.Assign):
            if any(isinstance(t, ast.Subscript) and ast.unparse(t.value) == text for t in s.targets):
                found.append(s.value)
        yield from (v for v in found if isinstance(v, ast.Call))
