"""Rows that are shuffled, split or selected at random before the ranks take their parts of them: part of D3.

All ranks have to do that alike: in orders of their own their parts would overlap and leave rows out, and where one keeps
more rows than another it would take more steps, and wait forever.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.python.module import Module
from horovodize.python.syntax import argument, has_unpacking, position
from horovodize.rules.drafting.decisions import Agreed, Decided, How, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.numbers.shares import feeding, flows_from_share, is_none
from horovodize.rules.rows import drawn_orders, keras_flows, row_buffers, streams
from horovodize.rules.rows.shuffled_feeds import BY_WORKERS, Feeds
from horovodize.rules.together import told_draws
from horovodize.rules.together.any_rank_test import alike, draw_alike
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.dataset_methods import SPLITTING
from horovodize.summary.feeding import FitFeed, Kind

_SHUFFLES = ("shuffle", "permutation", "permuted")
_SELECTIONS = ("choice", "sample")
_PICKS = ("randint", "randrange", "integers", "choice")
_STATES = ("get_state", "set_state", "getstate", "setstate")
_TESTED = ("rand", "random", "random_sample", "uniform", "binomial")  # of NumPy: `np.random.rand(n) < 0.8`
_FOLDS = (
    "KFold",
    "StratifiedKFold",
    "StratifiedGroupKFold",
)  # in the order of the rows unless they are told to shuffle
_SPLITS = (
    *_FOLDS,
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "train_test_split",
    "ShuffleSplit",
    "StratifiedShuffleSplit",
    "GroupShuffleSplit",
)
_OWN_ORDER = (
    "each rank shuffles for itself here and then takes its part: in an epoch some rows are seen twice and some not at all; "
    "seed NumPy with the same number on all ranks"
)
_OWN_ORDER_OF_KERAS = (
    "each rank shuffles for itself here and then takes its part: in an epoch some rows are seen twice and some not at all; "
    "give `shuffle=False`, and shuffle the rows before, alike on all ranks"
)
SHARED = "Every rank takes its part of the same order; in orders of their own the parts would overlap and leave rows out."


def apply(draft: Draft) -> None:
    """Runs after the rules that deal rows out. Where none are, each rank draws its batches from all of the rows: which those
    are, and which are kept for validation, is the same on all."""
    shared = any(c.decision is Decision.SHARED for c in draft.changes) or any(draft.having(Shared))
    if not shared and not draft.divided:
        return
    feeds = Feeds(draft)
    for call in _drawing(draft, _SHUFFLES):
        if feeds.is_drawn_elsewhere(call):
            if shared and feeds.is_drawn_elsewhere(call, BY_WORKERS):
                draft.note("D3", call, _OWN_ORDER)
            continue
        if feeds.prepares(call) or (shared and feeds.orders(call)):
            _draw_alike(draft, feeds, call)
    selecting = [*_drawing(draft, (*_SELECTIONS, *_TESTED))] if shared else []
    sorting = drawn_orders.sorting_draws(draft, selecting) if selecting else set[ast.Call]()
    for call in selecting:
        drawn = (drawn_orders.sorting_by(draft, call) if call in sorting else None) or call
        if (
            (call in sorting or drawn_orders.draws_order(draft, call))
            and not feeds.is_drawn_elsewhere(drawn)
            and feeds.orders(drawn)
            and drawn_orders.is_dealt_out(draft, drawn)
            and not (feeds.is_drawn_by_all(call) and drawn_orders.is_of_one_call(draft, call))
        ):
            _draw_alike(draft, feeds, call, within=drawn)
    yields = draft.syntax.every(ast.Yield, ast.YieldFrom)
    for call in _drawing(draft, (*_PICKS, *_TESTED)) if shared and yields else ():
        if (
            row_buffers.takes_from_one(draft, call)
            and not feeds.is_drawn_elsewhere(call)
            and feeds.orders(call)
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
        for call in draft.module.calls_which(_splits):
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
    feeds = Feeds(draft)
    for call in calls:
        if argument(call, "seed", 1) is not None or has_unpacking(call) or draft.was(call, Decided):
            continue
        if draft.drive.in_traced(call) or not feeds.orders(call):
            continue
        draft.decide(call, Agreed("D3", How.SEED))
        seed = told_draws.own_seed(draft, call, 0)
        edits = [draft.add_argument(call, f"seed={seed}")]
        draft.change("D3", call, "Draw the same on all ranks", SHARED, edits)


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


def _draw_alike(
    draft: Draft, feeds: Feeds, call: ast.Call, *, seeded: bool = False, within: ast.Call | None = None
) -> None:
    """within: the call that runs the `lambda` in which a draw stands"""
    decided = draft.was(call, Decided) and not draft.was(
        call, Shared
    )  # what is dealt out may be the order itself
    if decided or draft.drive.in_traced(call) or _is_of_one_batch(draft, call):
        return
    if not feeds.is_drawn_by_all(call) and not draft.uniform.reached_alike(within or call):
        if _is_only_written(draft, call):
            return
        draft.note(
            "D3",
            call,
            "some ranks may never reach this line, and each takes its part of what is shuffled here: in an epoch some rows are "
            "seen twice and some not at all; seed it with the same number on all ranks",
        )
        return
    draw_alike(draft, call, "D3", "Draw the same on all ranks", SHARED, seeded=seeded)


def _is_only_written(draft: Draft, call: ast.Call) -> bool:
    """Whether what is shuffled in place goes to a file only, which rank 0 writes: all ranks read its order."""
    shuffled = call.args[0] if draft.names.last(call.func) == "shuffle" and call.args else None
    if not isinstance(shuffled, ast.Name):
        return False
    outputs, scopes = outputs_of(draft), draft.module.scopes
    bound = scopes.reaching(shuffled)
    uses = [
        n
        for n in draft.module.loads.get(shuffled.id)
        if isinstance(n, ast.Name) and scopes.reaching(n) == bound
    ]
    uses = [n for n in uses if position(n) > position(shuffled)]
    return bool(uses) and all(
        any(outputs.is_output(a) for a in draft.syntax.ancestors(n) if isinstance(a, ast.stmt)) for n in uses
    )


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


def _asked_by_number(draft: Draft, feeds: Feeds) -> list[ast.Call]:
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


def _seed(draft: Draft, feeds: Feeds, call: ast.Call, *, shared: bool) -> None:
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


def _splits(module: Module, call: ast.Call) -> bool:
    name = module.names.of(call.func) or ""
    return name == SPLITTING or (name.startswith("sklearn.") and name.rsplit(".", 1)[-1] in _SPLITS)


def _split_alike(draft: Draft, call: ast.Call) -> None:
    """`train_test_split(x, y)`, `KFold(5, shuffle=True)`, Keras' `split_dataset(data, 0.8, shuffle=True)`: ranks would train on
    each other's validation data."""
    last, of_keras = draft.names.last(call.func), draft.names.of(call.func) == SPLITTING
    if draft.was(call, Decided) or has_unpacking(call):
        return
    seeded = argument(call, "seed", 4) if of_keras else argument(call, "random_state")
    shuffle = argument(call, "shuffle", 3) if of_keras else argument(call, "shuffle")
    never = isinstance(shuffle, ast.Constant) and shuffle.value is False
    if never or (shuffle is None and (of_keras or last in _FOLDS)) or not is_none(seeded):
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
