"""Rows that are shuffled, split or selected at random before the ranks take their parts of them: part of D3.

All ranks have to do that alike: in orders of their own their parts would overlap and leave rows out, and where one keeps
more rows than another it would take more steps, and wait forever.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from horovodize.facts.cursors import deals
from horovodize.plan import Decision
from horovodize.rules import drawn_orders, keras_flows, row_buffers, streams, told_draws
from horovodize.rules.any_rank_test import alike, draw_alike
from horovodize.rules.decisions import Agreed, Apart, Decided, How, InRounds, Shared
from horovodize.rules.draft import Draft
from horovodize.rules.shares import draws_for_all, draws_for_itself, feeding, flows_from_share, is_none
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Frame
from horovodize.summary.dataset_methods import SPLITTING
from horovodize.summary.feeding import Driver, FitFeed, Kind
from horovodize.summary.syntax import FUNCTIONS, Loop, argument, has_unpacking, position

_SHUFFLES = ("shuffle", "permutation")
_SELECTIONS = ("choice", "sample")
_PICKS = ("randint", "randrange", "integers", "choice")
_STATES = ("get_state", "set_state", "getstate", "setstate")
_TESTED = ("rand", "random", "random_sample", "uniform", "binomial")  # of NumPy: `np.random.rand(n) < 0.8`
_SPLITS = ("train_test_split", "KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit")
_OWN_ORDER = (
    "each rank shuffles for itself here and then takes its part: in an epoch some rows are seen twice and some not at all; "
    "seed NumPy with the same number on all ranks"
)
_OWN_ORDER_OF_KERAS = (
    "each rank shuffles for itself here and then takes its part: in an epoch some rows are seen twice and some not at all; "
    "give `shuffle=False`, and shuffle the rows before, alike on all ranks"
)
_BY_GRAPH = ("py_func", "py_function", "numpy_function", "eager_py_func")
_BY_WORKERS = (
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
_LIMIT = 3000  # nodes that are looked at behind the data for functions that shuffle it
SHARED = "Every rank takes its part of the same order; in orders of their own the parts would overlap and leave rows out."


def apply(draft: Draft) -> None:
    """Runs after the rules that deal rows out. Where none are, each rank draws its batches from all of the rows: which those
    are, and which are kept for validation, is the same on all."""
    shared = any(c.decision is Decision.SHARED for c in draft.changes) or any(draft.having(Shared))
    if not shared and not draft.divided:
        return
    feeds = _Feeds(draft)
    for call in _drawing(draft, _SHUFFLES):
        if feeds.is_drawn_elsewhere(call):
            if shared and feeds.is_drawn_elsewhere(call, _BY_WORKERS):
                draft.note("D3", call, _OWN_ORDER)
            continue
        if feeds.prepares(call) or (shared and feeds.orders(call)):
            _draw_alike(draft, feeds, call)
    for call in _drawing(draft, (*_SELECTIONS, *_TESTED)) if shared else ():
        if (
            drawn_orders.draws_order(draft, call)
            and not feeds.is_drawn_elsewhere(call)
            and feeds.orders(call)
            and drawn_orders.is_dealt_out(draft, call)
            and not (feeds.is_drawn_by_all(call) and drawn_orders.is_of_one_call(draft, call))
        ):
            _draw_alike(draft, feeds, call)
    for call in _drawing(draft, _PICKS) if shared else ():
        if (
            not feeds.is_drawn_elsewhere(call)
            and feeds.orders(call)
            and row_buffers.takes_from_one(draft, call)
        ):
            _draw_alike(draft, feeds, call)
    for call in _drawing(draft, _SHUFFLES, seeded=True) if shared else ():
        if feeds.orders(call) and streams.is_shared(draft, call, feeds.loops, feeds.sources):
            _draw_alike(draft, feeds, call, seeded=True)
    for call in (*_drawing(draft, _SELECTIONS), *_masks(draft)):
        if not feeds.is_drawn_elsewhere(call) and feeds.prepares(call) and feeds.depends_on(call):
            _draw_alike(draft, feeds, call)
    _keep_states(draft)
    for call in _asked_by_number(draft, feeds):
        draft.note("D3", call, _OWN_ORDER_OF_KERAS)
    if not draft.uniform.draws.is_seeded("numpy.random."):
        for call in (*draft.module.calls_of("sklearn.utils.shuffle"), *draft.sites.method_calls("sample")):
            _seed(draft, feeds, call, shared=shared)
        for call in draft.syntax.calls:
            _split_alike(draft, call)
        for fed in feeding(draft).fits:
            _report_folder(draft, fed)


def seed_tensors(draft: Draft) -> None:
    """`tf.random.shuffle(tf.range(n))`, which has no stream that could be drawn from: a seed of its own. Runs after the rules
    that let rank 0 tell what is drawn before a loop."""
    calls = draft.module.calls_of("tensorflow.random.shuffle")
    shared = any(c.decision is Decision.SHARED for c in draft.changes) or any(draft.having(Shared))
    if not calls or not shared or draft.in_graph or draft.module.calls_of("tensorflow.random.set_seed"):
        return
    feeds = _Feeds(draft)
    for call in calls:
        if argument(call, "seed", 1) is not None or has_unpacking(call) or draft.was(call, Decided):
            continue
        if draft.drive.in_traced(call) or not feeds.orders(call):
            continue
        draft.decide(call, Agreed("D3", How.SEED))
        seed = told_draws.own_seed(draft, call, 0)
        edits = [draft.add_argument(call, f"seed={seed}")]
        draft.change("D3", call, "Draw the same on all ranks", SHARED, edits)


class _Feeds:
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
        """Whether a call is made once, in no loop: it prepares data. What a generator function does before it yields is its
        own matter: each rank's, where each draws its batches for itself, and else an order in which they are dealt out."""
        ways = [way for way in self.draft.drive.ways(call) if not any(_generates(f.function) for f in way)]
        return any(not any(f.loops for f in way) for way in ways) and not self._draws(call)

    def is_drawn_elsewhere(self, call: ast.Call, by: tuple[str, ...] = (*_BY_GRAPH, *_BY_WORKERS)) -> bool:
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
        """Whether a call gives a step its own random batch: ranks have to draw differently there."""
        return any(self.syntax.inside(call, d.loop) for d in feeding(self.draft).drivers)


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


def _drawing(draft: Draft, methods: tuple[str, ...], *, seeded: bool = False) -> Iterator[ast.Call]:
    """Calls of the random functions of these names, and of the methods of generators, that no seed fixes; or that one does."""
    for call in draft.module.calls_of(*(f"{m}.{f}" for m in ("numpy.random", "random") for f in methods)):
        if draft.uniform.draws.is_seeded(draft.names.of(call.func) or "", call) is seeded:
            yield call
    for call in draft.sites.method_calls(*methods):
        maker = draft.uniform.draws.maker(call)
        if maker is not None and draft.uniform.draws.gives_seed(maker) is seeded:
            yield call


def _masks(draft: Draft) -> Iterator[ast.Call]:
    """Rows that are selected by a random number each: `np.random.rand(n) < 0.8`."""
    for call in draft.module.calls_of(*(f"numpy.random.{name}" for name in _TESTED)):
        if isinstance(draft.syntax.parent[call], ast.Compare) and not draft.uniform.draws.is_seeded(
            "numpy.random."
        ):
            yield call


def _draw_alike(draft: Draft, feeds: _Feeds, call: ast.Call, *, seeded: bool = False) -> None:
    decided = draft.was(call, Decided) and not draft.was(
        call, Shared
    )  # what is dealt out may be the order itself
    if decided or draft.drive.in_traced(call) or _is_of_one_batch(draft, call):
        return
    if not feeds.is_drawn_by_all(call) and not draft.uniform.reached_alike(call):
        draft.note(
            "D3",
            call,
            "some ranks may never reach this line, and each takes its part of what is shuffled here: in an epoch some rows are "
            "seen twice and some not at all; seed NumPy with the same number on all ranks",
        )
        return
    draw_alike(draft, call, "D3", "Draw the same on all ranks", SHARED, seeded=seeded)


def _is_of_one_batch(draft: Draft, call: ast.Call) -> bool:
    """Whether a `Sequence` draws when it is asked for a batch, which one rank is, and keeps nothing of it."""
    function = draft.syntax.function(call)
    if not isinstance(function, ast.FunctionDef) or function.name != "__getitem__":
        return False
    statement = draft.syntax.statement(call)
    kept = [n for n in ast.walk(statement) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    shuffled = call.args[0] if draft.names.last(call.func) == "shuffle" and call.args else None
    return not kept and not isinstance(shuffled, ast.Attribute)


def _keep_states(draft: Draft) -> None:
    """`state = np.random.get_state()`, `shuffle(x)`, `np.random.set_state(state)`, `shuffle(y)`: the state is that of the
    stream which the rows are shuffled by, or rows and targets would no longer belong together."""
    if "alike" not in draft.helpers:
        return
    drawn_alike = [c for c in draft.having(Agreed) if isinstance(c, ast.Call) and _is_of_stream(draft, c)]
    seeded = [
        c
        for c in _drawing(draft, _STATES, seeded=True)
        if any(streams.same(draft, c, d) for d in drawn_alike)
    ]
    for call in (*_drawing(draft, _STATES), *seeded):
        if _belongs_to_own_draws(draft, call):
            continue
        draft.change(
            "D3",
            call,
            "Keep the state of what all ranks draw from",
            "Rows and targets that are shuffled in turn by one state come out in one order.",
            Edit.around(draft.module.span(call.func), f"{alike(draft, call, seeded=call in seeded)}(", ")"),
        )


def _belongs_to_own_draws(draft: Draft, state: ast.Call) -> bool:
    """Whether what a function shuffles beside keeping a state is each rank's own to draw: so is the state then."""
    function = draft.syntax.function(state)
    beside = [c for c in _drawing(draft, _SHUFFLES) if draft.syntax.function(c) is function]
    return bool(beside) and not any(_is_of_stream(draft, c) for c in beside)


def _is_of_stream(draft: Draft, call: ast.Call) -> bool:
    decision = draft.decision(call, Agreed)
    return decision is not None and decision.how is How.STREAM


def _report_folder(draft: Draft, fed: FitFeed) -> None:
    """One of several sequences of which one shuffles inside of Keras, so that it can't be told its order."""
    if fed.kind is Kind.SEQUENCE and not keras_flows.all_shuffle(draft, fed.x):
        for call in draft.values.calls(fed.x):
            if keras_flows.shuffles(draft, call) and not flows_from_share(draft, fed.x):
                draft.note("D3", call, _OWN_ORDER)


def _asked_by_number(draft: Draft, feeds: _Feeds) -> list[ast.Call]:
    """Sequences of Keras' own whose batches a loop that is dealt asks for by their number, `batches[i]`, in an order that each
    rank shuffles for itself."""
    asked = [
        n.value
        for loop in feeds.loops
        for n in walk(loop)
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and not isinstance(n.slice, ast.Slice)
    ]
    made = (call for e in asked for call in draft.values.calls(e))
    return [
        c for c in dict.fromkeys(made) if keras_flows.shuffles(draft, c) and keras_flows.is_of_keras(draft, c)
    ]


def _seed(draft: Draft, feeds: _Feeds, call: ast.Call, *, shared: bool) -> None:
    """`sklearn.utils.shuffle(x, y)`, `frame.sample(frac=1)`: a seed of their own."""
    is_frame = draft.names.last(call.func) == "sample"
    if is_frame and argument(call, "frac") is None:
        return
    if argument(call, "random_state") is not None or has_unpacking(call) or draft.was(call, Decided):
        return
    prepares = feeds.prepares(call)
    if not prepares and not (shared and feeds.orders(call)):
        return
    if not prepares and (draft.drive.in_traced(call) or not draft.uniform.reached_alike(call)):
        draft.note("D3", call, _OWN_ORDER)
        return
    seed = _seed_of(draft, call)
    draft.decide(call, Agreed("D3", How.SEED))
    draft.change(
        "D3", call, "Draw the same on all ranks", SHARED, [draft.add_argument(call, f"random_state={seed}")]
    )


def _seed_of(draft: Draft, call: ast.Call) -> str:
    """A seed of its own for each draw of rows: frames of which rows are drawn twice by one seed give the same."""
    seeded = (c for c in draft.having(Agreed) if isinstance(c, ast.Call))
    before = [c for c in seeded if (d := draft.decision(c, Agreed)) is not None and d.how is How.SEED]
    return told_draws.own_seed(draft, call, len(before))


def _split_alike(draft: Draft, call: ast.Call) -> None:
    """`train_test_split(x, y)`, `KFold(5, shuffle=True)`, Keras' `split_dataset(data, 0.8, shuffle=True)`: ranks would train on
    each other's validation data."""
    name = draft.names.of(call.func) or ""
    last, of_keras = name.rsplit(".", 1)[-1], name == SPLITTING
    if not of_keras and not (name.startswith("sklearn.") and last in _SPLITS):
        return
    if draft.was(call, Decided) or has_unpacking(call):
        return
    seeded = argument(call, "seed", 4) if of_keras else argument(call, "random_state")
    shuffle = argument(call, "shuffle", 3) if of_keras else argument(call, "shuffle")
    never = isinstance(shuffle, ast.Constant) and shuffle.value is False
    if never or (shuffle is None and (of_keras or last.endswith("KFold"))) or not is_none(seeded):
        return
    seed = _seed_of(draft, call)
    draft.decide(call, Agreed("D3", How.SEED))
    why = "Without a seed each rank would split differently and train on the others' validation data."
    draft.change(
        "D3",
        call,
        "Split alike on all ranks",
        why,
        [draft.add_argument(call, f"{'seed' if of_keras else 'random_state'}={seed}")],
    )
