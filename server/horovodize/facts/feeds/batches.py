"""How the batch of a step is made, so that its rows can be divided among the ranks: by its size, or where it is fed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from horovodize.facts.feeds.over_rows import Over
from horovodize.facts.feeds.steps import Feed, Steps
from horovodize.facts.feeds.turn_parts import Part
from horovodize.facts.feeds.undivided import Undivided
from horovodize.python.module import Module
from horovodize.python.syntax import argument, has_unpacking, says_none
from horovodize.summary import pipeline_counts as counts
from horovodize.summary.dataset_methods import EVEN, METHODS
from horovodize.summary.feeding import Driver, Feeding, FitFeed, Kind
from horovodize.summary.sites import Sites

_BATCHING = ("batch", "padded_batch")
_BATCHES_OF_FILES = ("make_csv_dataset", "make_batched_features_dataset")
_DIRECTORY = "_dataset_from_directory"
_SELECTING = ("take", "skip", "filter", "shard", "concatenate")
_NOT_SEEN = "it can't be seen how the batch of this step is made"


@dataclass(frozen=True, eq=False)
class Batch:
    """The batch of a place that trains.

    sizes     what says how many rows it has, where dividing that is enough: data are divided among the ranks before it
    default   calls that make batches of 32 rows, as they are given no size
    late      datasets of which each element is a batch
    fed       arrays that are a batch, where they are fed
    parts     the same, where they may be lists or tuples of arrays
    iterated  iterables (not datasets) that give such batches
    over      what the loss is over its rows
    unseen    a place, and what can't be divided there; None: all can be"""

    sizes: tuple[ast.expr, ...] = ()
    default: tuple[ast.Call, ...] = ()
    late: tuple[ast.expr, ...] = ()
    fed: tuple[ast.expr, ...] = ()
    parts: tuple[ast.expr, ...] = ()
    iterated: tuple[ast.expr, ...] = ()
    over: Over = Over.UNKNOWN
    unseen: tuple[ast.AST, str] | None = None


class Batches:
    """The batches of one module's steps."""

    def __init__(
        self, module: Module, sites: Sites, feeding: Feeding, steps: Steps, undivided: Undivided
    ) -> None:
        self.module, self.sites, self.feeding = module, sites, feeding
        self.steps, self.undivided = steps, undivided
        self.syntax, self.names, self.values = module.syntax, module.names, module.values
        self._known: dict[ast.Call, Batch] = {}

    def of(self, site: ast.Call) -> Batch:
        """How the batch of a place that trains is made, found out once."""
        if site not in self._known:
            self._known[site] = self._find(site)
        return self._known[site]

    def _find(self, site: ast.Call) -> Batch:
        fit = self.feeding.fit_of(site)
        if fit is not None:
            return self._of_fit(fit)
        if any(f.call is site for f in self.sites.fits):
            return self._of_train_on_batch(site)
        loops = [d for d in self.feeding.drivers if site in d.steps]
        if not loops:
            return _unseen(site, "the loop that runs this step can't be seen, nor how its batch is made")
        feeds = [e for loop in loops for e in self._datasets(loop)]
        if feeds:
            return replace(self._of_datasets(feeds), over=self._over_items(site, loops))
        if any(run.call is site for run in self.sites.graph.trainings):
            return self._of_run(site)
        return self._of_arrays(site, loops)

    # ------------------------------------------------------------------ datasets

    def _datasets(self, loop: Driver) -> list[ast.expr]:
        own = [] if loop.iterable is None else [loop.iterable]
        own += [
            a for e in own if isinstance(e, ast.Call) and self.names.last(e.func) == "zip" for a in e.args
        ]
        own += self.feeding.next_calls(loop)
        if self.sites.builds_graph and loop.kind is not Kind.DATASET:
            own += self.feeding.graph_feeds
        return [e for e in own if e in self.feeding.dataset_feeds]

    def _of_datasets(self, feeds: Iterable[ast.expr]) -> Batch:
        sizes: dict[ast.expr, None] = {}
        late: dict[ast.expr, None] = {}
        for feed in feeds:
            if self.feeding.bound_batches.has_fixed_batch(feed):
                return _unseen(feed, "the model is made for one batch size")
            for place in self.undivided.places(feed):
                made = self._batching(feed, place)
                if isinstance(made, ast.expr):
                    sizes[made] = None
                elif made:
                    late[place] = None
                else:
                    return _unseen(feed, "it can't be seen how the batches of this dataset are made")
        return Batch(sizes=tuple(sizes), late=tuple(late))

    def is_late(self, feed: ast.expr, place: ast.expr) -> bool:
        """Whether a pipeline is divided at a place where its elements are batches already."""
        return self._batching(feed, place) is True

    def _batching(self, feed: ast.expr, place: ast.expr) -> ast.expr | bool:
        """The size of the batches that a pipeline makes after a place; True where it has made them before, False where that
        can't be told."""
        pipelines = self.feeding.pipelines
        before = pipelines.steps(place)
        after = [s for s in pipelines.steps(feed) if s not in before]
        for step in after:
            method = self.names.last(step.func)
            even = method in EVEN or method == "take"
            applied = (
                method == "apply"
                and pipelines.applies_evenly(step)
                and "batch" not in ast.unparse(step.args[0])
            )
            if method == "ragged_batch" or not (even or applied):
                return False
        batching = [s for s in after if self.names.last(s.func) in _BATCHING]
        if not batching:
            return self._is_batched(place, before)
        size = argument(batching[0], "batch_size", 0)
        if size is None or has_unpacking(batching[0]) or self._is_tensor(size):
            return False
        return size

    def _is_batched(self, place: ast.expr, steps: list[ast.Call]) -> bool:
        """Whether it is seen that the elements of a pipeline are batches."""
        for step in steps:  # the last one first
            method = self.names.last(step.func)
            if method in _BATCHING:
                return True
            if method in METHODS and method not in EVEN and method not in _SELECTING:
                return False
        for e in self.feeding.pipelines.trail(place):
            last = self.names.last(e.func) if isinstance(e, ast.Call) else ""
            if isinstance(e, ast.Call) and (last.endswith(_DIRECTORY) or last in _BATCHES_OF_FILES):
                size = argument(e, "batch_size")
                return not says_none(size)
        return counts.is_loaded_in_batches(self.feeding.pipelines, place)

    def _is_tensor(self, size: ast.expr) -> bool:
        return any(self.names.last(c.func).startswith("placeholder") for c in self.values.calls(size))

    # ------------------------------------------------------------------ fit, train_on_batch

    def _of_fit(self, fed: FitFeed) -> Batch:
        call = fed.fit.call
        over = self.steps.compiled.over(fed.fit.model)
        if has_unpacking(call):
            return _unseen(call, "how `fit` makes its batches comes in `**`")
        if fed.kind is Kind.DATASET:
            return replace(self._of_datasets([fed.x]), over=over)
        if fed.y is not None or fed.kind in (Kind.ARRAY, Kind.ARRAYS, Kind.MAPPING):
            return replace(self._by_argument(call, 2), over=over)
        if fed.kind is Kind.SEQUENCE:
            flow = self.flow(fed)
            if flow is not None:
                return replace(self._by_argument(flow, 2), over=over)
            return Batch(iterated=(fed.x,), over=over)
        if fed.kind is Kind.GENERATOR:
            return Batch(iterated=(fed.x,), over=over)
        return _unseen(fed.x, "it can't be seen what this is, nor how its batches are made")

    def flow(self, fed: FitFeed) -> ast.Call | None:
        """`datagen.flow(x, y)` in the call of `fit` itself, where its arrays are divided."""
        flows = (
            isinstance(fed.x, ast.Call) and self.names.last(fed.x.func) == "flow" and not has_unpacking(fed.x)
        )
        return fed.x if flows and isinstance(fed.x, ast.Call) else None

    def _by_argument(self, call: ast.Call, position: int) -> Batch:
        size = argument(call, "batch_size", position)
        if size is None:
            return Batch(default=(call,))
        return Batch(sizes=(size,))

    def _of_train_on_batch(self, site: ast.Call) -> Batch:
        given = [argument(site, "x", 0), argument(site, "y", 1), argument(site, "sample_weight")]
        if has_unpacking(site) or given[0] is None:
            return _unseen(site, _NOT_SEEN)
        assert isinstance(site.func, ast.Attribute)
        loops = [d for d in self.feeding.drivers if site in d.steps]
        feeds = [e for loop in loops for e in self._datasets(loop)]
        over = self.steps.compiled.over(site.func.value)
        if feeds:
            return replace(self._of_datasets(feeds), over=over)
        return Batch(parts=tuple(e for e in given if e is not None), over=over)

    # ------------------------------------------------------------------ sessions

    def _of_run(self, site: ast.Call) -> Batch:
        fed = self.steps.feeds.of(site)
        if fed is None:
            return _unseen(site, _NOT_SEEN)
        rows: dict[ast.expr, ast.expr] = {}  # what is fed → the placeholder
        for key, value, part in fed:
            shape = self.steps.placeholders.shape_of(key)
            if shape is not None and not shape:
                continue  # a number
            if shape is not None and not (isinstance(shape[0], ast.Constant) and shape[0].value is None):
                return _unseen(value, "what this is fed to is made for one number of rows")
            if shape is None and part in (Part.NUMBER, Part.TURN) and self._is_number(value):
                continue
            if part in (Part.DEALT, Part.DRAWN) and (shape is not None or self._are_rows(value)):
                rows[value] = key
            else:
                return _unseen(value, "it can't be seen whether these are the rows of a batch")
        if not rows:
            return _unseen(site, _NOT_SEEN)
        if any(
            k.arg == "time_major" and not (isinstance(k.value, ast.Constant) and k.value.value is False)
            for c in self.syntax.calls
            for k in c.keywords
        ):
            return _unseen(site, "rows do not come first in what is fed (`time_major`)")
        made: set[ast.AST] = {c for key in rows.values() for c in self.values.calls(key)}
        return Batch(fed=tuple(rows), over=self.steps.over(site, made))

    def _is_number(self, value: ast.expr) -> bool:
        """Whether a number is fed, written out or computed from such: a rate, a probability."""
        numbers = (ast.Constant, ast.BinOp, ast.UnaryOp)
        return all(isinstance(o.node, numbers) and not o.path for o in self.values.origins(value))

    def _are_rows(self, value: ast.expr) -> bool:
        """Whether what is selected or dealt out is several rows, and not one number: a slice, what a call gives."""
        found = [o.node for o in self.values.origins(value)]
        return bool(found) and all(
            isinstance(n, ast.Call) or (isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice))
            for n in found
        )

    # ------------------------------------------------------------------ arrays in a loop

    def _of_arrays(self, site: ast.Call, loops: list[Driver]) -> Batch:
        """Batches that a loop takes from arrays, or gets from something that deals them out."""
        iterated = [d.iterable for d in loops if d.iterable is not None and d.kind is Kind.GENERATOR]
        if iterated and len(iterated) == len(loops):
            return Batch(iterated=tuple(iterated), over=self._over_items(site, loops))
        taken = self._taken(site)
        if not taken:
            return _unseen(site, _NOT_SEEN)
        return Batch(parts=tuple(taken), over=self.steps.over(site, set(self.steps.changing(site)[0])))

    def _taken(self, site: ast.Call) -> list[ast.expr]:
        """The slices of arrays (or of an order of their rows) that a step sees; none where it sees anything else that changes
        from step to step."""
        moving, drawn = self.steps.changing(site)
        if (
            drawn
            or self.steps.of(site).feed is not Feed.BATCH
            or any(self.feeding.drive.in_traced(e) for e in moving)
        ):
            return []
        taken = [e for e in moving if isinstance(e, ast.Subscript)]
        slices: list[ast.expr] = [e for e in taken if isinstance(e.slice, ast.Slice) and e.slice.step is None]
        picked = [e for e in taken if e not in slices]
        by_slices = all(set(slices) & set(self.values.depends([e.slice], 60)) for e in picked)
        return slices if len(taken) == len(moving) and by_slices else []

    def _over_items(self, site: ast.Call, loops: list[Driver]) -> Over:
        """What a loss is over the rows of the items that loops go through, or get by `next`."""
        rows = set(self._items(loops))
        return self.steps.over(site, rows)

    def _items(self, loops: list[Driver]) -> Iterator[ast.AST]:
        over = {d.loop for d in loops}
        reaching = self.module.scopes.reaching
        for n in self.syntax.every(ast.Name):
            if not isinstance(n, ast.Name) or not isinstance(n.ctx, ast.Load):
                continue
            for b in reaching(n):
                if b.kind == "item" and b.statement in over:
                    yield n
                elif b.kind == "assign" and isinstance(b.value, ast.Call) and self._gets_next(b.value):
                    yield n

    def _gets_next(self, call: ast.Call) -> bool:
        return self.names.last(call.func) in ("next", "get_next")


def _unseen(node: ast.AST, message: str) -> Batch:
    return Batch(unseen=(node, message))
