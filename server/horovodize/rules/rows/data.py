"""D1 datasets: every rank trains on its own part of a `tf.data` pipeline.

What it does   Wraps the pipeline in `shard_dataset(…)`, as early as is right: after its source, before `map`, `shuffle` and
               `batch`; after a `batch` that makes sequences of elements (`ids.batch(101).map(split).batch(64)`), which must
               follow each other. All ranks get equally many elements. Files of unknown length get `shard_records(…)`: to be
               equally many, the shares of some ranks end with the first elements again. Rows of which there are surely many
               (Keras' own data sets, arrays whose shape is seen) need no helper: `ds.shard(hvd.size(), hvd.rank())` and
               `take(len(ds) // hvd.size())`; what may be few rows is repeated before that. Records of files in a drawn order,
               of which nobody knows the number, are taken in whole rounds: `.batch(hvd.size(), drop_remainder=True).unbatch()`.
               Data that is repeated without end needs no equal counts: `.shard(hvd.size(), hvd.rank())`, right after
               `.repeat()` where that is the next step.
               A function that makes the data for training and for evaluation divides it inside, for the calls that train:
               `make(files, share=shard_records)`. A `cache` file gets
               a name of its own on each rank, a shuffle that comes before the division a seed, and what gives elements as they
               come (`deterministic=False`) keeps their order on several ranks: all of them divide the same order. A function
               that makes rows for `from_generator` out of numbers, lists or arrays goes through this rank's only
               (`for path in shard(files):`). With the setting `batch = "global"`, batches that are made after the division are
               divided, too (`batch(share_batch(32))`); of those that are made before it, each rank takes its rows
               (`share_batches(dataset)`). Where steps are written for batches of one size (`tf.reshape(x, (BATCH, 784))`), a
               smaller last one, which a rank's share may leave, is left out.
Why            Otherwise every rank trains on everything: N ranks do N times the work of one. Unequal shares would leave the
               rank with more of them waiting for the others forever.
Before         ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
               model.fit(ds, epochs=3)
After          ds = shard_dataset(tf.data.Dataset.from_tensor_slices((x, y))).shuffle(1000).batch(32)
               model.fit(ds, epochs=3)
Leaves alone   Pipelines that only evaluate. What comes before `filter`, `skip`, `flat_map` and other steps that keep different
               numbers of elements on different ranks, and before a name that is also evaluated, split or given to a layer's
               `adapt`, which must see the whole: the division comes after them; a note names each `map` that every rank then
               runs on all of the data. What a generator draws at random without seed or end: each rank draws its own. A
               pipeline that is made inside a `tf.function`. A `fit` of which it can't be seen what it trains on: its rate
               stays, too.
Asks           Whether the rows of a dataset of one element (`from_tensors`) can be divided. Where a session begins the divided
               dataset again and trains nothing then: it measures by a rank's share.
Source         Beyond the seed, which divides no data (horovod#2623, 3675; equal counts: 2083, 118, 1407, 708).
"""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Apart, Shared, Unit
from horovodize.rules.drafting.draft import RANK, Draft, needs_parentheses
from horovodize.rules.drafting.parameters import can_get_a_parameter, new_parameter
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.elastic.rows import divide as divide_elastically
from horovodize.rules.loops import draws_apart, generators
from horovodize.rules.numbers.shares import begins, feeding, wrap
from horovodize.rules.rows import (
    endless_shares,
    few_rows,
    global_batch,
    held_rows,
    made_to_measure,
    one_element,
    short_shares,
    whole_batches,
)
from horovodize.rules.rows.alike_shuffles import shuffle_alike
from horovodize.rules.rows.own_experience import played
from horovodize.source import Edit
from horovodize.summary import pipeline_counts as counts
from horovodize.summary.dataset_methods import BATCHING, UNGROUPING

_WHY = "Ranks that all train on everything do size() times the work; equally many elements on each keep them in step."
_UNSEEN = "it can't be seen what this trains on, so it is not divided: every rank trains on all of it"
_WHY_INSIDE = (
    "Divided where it is read, no rank decodes the others' part; what else the function makes stays whole."
)
_MEASURE = "Measure by all of the data"
_WHY_MEASURE = "What is measured on a rank's share is another number on each rank."
_MEASURED = (
    "the dataset that begins here is divided, though nothing is trained on it: average what is measured over the ranks, or "
    "measure by a dataset of its own"
)
_WHY_BATCHES = "All ranks together take the batches that one process took, so rate and steps stay."
# What gives batches of files that it has read and decoded.
_DECODING = ("_dataset_from_directory", "make_csv_dataset", "make_batched_features_dataset")


def apply(draft: Draft) -> None:
    global_batch.refuse_settings(draft)
    if not begins(draft, "D1"):
        return
    known = feeding(draft)
    own = played(draft)
    for feed in (f for f in known.dataset_feeds if f not in own):
        if known.bound_batches.is_stateful(feed):
            draft.note(
                "D1",
                feed,
                "the model is stateful, so its batches are not divided: every rank trains on all of them",
            )
        elif not draft.facts.undivided.is_in_order(feed):  # else it is said of the loop
            fewer = draft.divided or not draft.facts.steps.is_one_batch(feed)
            places = draft.facts.undivided.places(feed)
            if not _divide_for_training(draft, feed, places):
                _divide(draft, feed, places)
                _ask_of_measuring(draft, feed)
            draft.divided = draft.divided and fewer  # one batch an epoch stays one
            whole_batches.keep_whole(draft, feed)
            few_rows.tell(draft, feed)
    for call in draft.sites.method_calls("cache"):
        if known.pipelines.is_dataset(call):
            _separate_cache(draft, call)
    undivided = draft.facts.undivided
    unseen = [fed.x for fed in known.fits if undivided.is_unseen(fed)]
    for given in (*unseen, *(fit.call for fit in undivided.hidden_fits)):
        draft.note("D1", given, _UNSEEN)


def _divide_for_training(draft: Draft, feed: ast.expr, places: list[ast.expr]) -> bool:
    """Divides what a function of a graph makes to train by, and leaves what it makes to measure by."""
    made = made_to_measure.calls_for_training(draft, feed, places) if places else None
    if made is None or not can_get_a_parameter(draft, made[0]) or draft.options.elastic:
        return False
    for call in made[1]:
        if draft.decide(call, Shared("D1")):
            _divide_for(draft, call, made[0], places, feed)
    return True


def _divide(draft: Draft, feed: ast.expr, places: list[ast.expr]) -> None:
    if not places:
        draft.note(
            "D1", feed, "this pipeline can't be divided where it is made: every rank trains on all of it"
        )
    for place in places:
        if one_element.holds(draft, place):
            one_element.ask(draft, place)
        elif draft.options.keeps_batch and draft.facts.batches.is_late(feed, place):
            _divide_batches(draft, place)
        elif _differs_by_itself(draft, place):
            # so that ends and events of its loop are those of a rank
            draft.decide(place, Shared("D1", Unit.OWN))
            draft.divided = True
        elif draft.options.elastic:
            _divide_whenever_iterated(draft, place)
        elif draft.options.keeps_batch:
            _divide_at(
                draft, place, feed
            )  # as a function makes it, its batches are also those of what only evaluates
        elif not _divide_inside(draft, place, feed):
            _divide_at(draft, place, feed)


def _ask_of_measuring(draft: Draft, feed: ast.expr) -> None:
    """A pipeline on placeholders may be given other arrays to measure by, and is divided then, too."""
    if not feeding(draft).pipelines.is_dataset(feed) or not draft.facts.undivided.places(feed):
        return
    for run in feeding(draft).graph_iterators.measured_by(feed):
        draft.ask("D1", run, _MEASURE, _WHY_MEASURE, _MEASURED)


def _divide_at(draft: Draft, place: ast.expr, feed: ast.expr) -> None:
    if not draft.options.keeps_batch and (
        held_rows.divide(draft, place) or generators.divide_rows(draft, "D1", place)
    ):
        return
    edits = (
        endless_shares.of_repeated(draft, place, feed)
        or endless_shares.uneven(draft, place, feed)
        or _short_share(draft, place)
        or _filled_share(draft, place)
        or _share_of_records(draft, place)
        or wrap(draft, place, _helper(draft, [place], for_steps=_is_gone_through(draft, place)), "D1")
    )
    if edits:
        draft.change("D1", place, "Give every rank its own part of the dataset", _WHY, edits)
        _tell_what_comes_before(draft, place)
    shuffle_alike(draft, place)


def _divide_whenever_iterated(draft: Draft, place: ast.expr) -> None:
    """For ranks that come and go."""
    edits = divide_elastically(draft, place, length_known=_helper(draft, [place]) == "shard_dataset")
    if edits:
        draft.change(
            "D1", place, "Give every rank its own part of the dataset", _WHY, edits, decision=Decision.SHARED
        )
        _tell_what_comes_before(draft, place)
    shuffle_alike(draft, place)


def _divide_batches(draft: Draft, place: ast.expr) -> None:
    """Gives every rank its rows of each batch of a dataset."""
    edits = wrap(draft, place, "share_batches", "D1", Unit.ROWS)
    if edits:
        draft.change("D1", place, "Divide the rows of each batch among the ranks", _WHY_BATCHES, edits)
        _tell_what_comes_before(draft, place)
    shuffle_alike(draft, place)


def _differs_by_itself(draft: Draft, place: ast.expr) -> bool:
    """Whether all that a pipeline gives is drawn by a generator without seed or end: each rank draws, and keeps, its own."""
    pipelines = feeding(draft).pipelines
    calls = [e for e in pipelines.trail(place) if isinstance(e, ast.Call)]
    if any(pipelines.is_dataset(a) for step in pipelines.steps(place) for a in step.args):
        return False
    made = [c for c in calls if (draft.names.of(c.func) or "").startswith("tensorflow.data.")]
    return bool(made) and all(_draws_without_end(draft, c) for c in made)


def _draws_without_end(draft: Draft, call: ast.Call) -> bool:
    given = argument(call, "generator", 0) if draft.names.last(call.func) == "from_generator" else None
    origins = draft.values.origins(given) if given is not None else []
    found = [o.node for o in origins if isinstance(o.node, ast.FunctionDef) and not o.path]
    endless = [f for f in found if draft.facts.generators.is_endless(f)]
    if any(draft.facts.generators.rows(f) and draws_apart.draws_orders(draft, f) for f in endless):
        return False  # each pass is of all rows, and can be divided
    return (
        bool(found)
        and len(endless) == len(origins)
        and all(draws_apart.draws_apart(draft, "D1", f) for f in found)
    )


def _is_gone_through(draft: Draft, place: ast.expr) -> bool:
    """Whether a loop goes through the batches that are divided, as they are or by a bar or a count: each is that of a step."""
    methods = {draft.names.last(step.func) for step in feeding(draft).pipelines.steps(place)}
    if not methods & BATCHING or methods & UNGROUPING:
        return False
    child: ast.AST = place
    for a in draft.syntax.ancestors(place):
        if isinstance(a, ast.For):
            return draft.syntax.field[child] == "iter"
        if not isinstance(a, ast.Call) or a.func is child:
            return False
        child = a
    return False


def _helper(draft: Draft, places: list[ast.expr], *, for_steps: bool = False) -> str:
    """The helper that divides at these places: a short one where the length is known. Where the elements can be read again, the
    shares of ranks that have fewer are filled up; else, only whole groups of size() elements are taken, which is cheap only
    where the length is known in the end."""
    pipelines = feeding(draft).pipelines
    if not draft.in_graph and all(counts.surely_knows_its_length(pipelines, place) for place in places):
        draft.all_finite &= all(short_shares.has_length(draft, place) for place in places)
        return "shard_dataset"
    known = not draft.in_graph and all(counts.knows_its_length(pipelines, place) for place in places)
    again = all(counts.gives_the_same_again(pipelines, place) for place in places)
    if again and (not known or all(counts.is_loaded_in_order(pipelines, place) for place in places)):
        return "shard_records"
    return "shard_steps" if for_steps else "shard_stream"


def _short_share(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    if draft.was(place, Shared) or not isinstance(place, (ast.Name, ast.Call)):
        return ()
    edits = short_shares.share(draft, place) if short_shares.has_length(draft, place) else ()
    if not edits or not draft.decide(place, Shared("D1")):
        return ()
    draft.divided = True
    return draft.decided(Decision.SHARED, edits)


def _filled_share(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    """What `shard_records` does, on a line of its own after the one that gives a dataset its name."""
    if (
        draft.was(place, Shared)
        or "shard_records" in draft.helpers
        or _helper(draft, [place]) != "shard_records"
    ):
        return ()
    edits = short_shares.filled(draft, place)
    if not edits or not draft.decide(place, Shared("D1")):
        return ()
    draft.divided = True
    return draft.decided(Decision.SHARED, edits)


def _share_of_records(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    """What `shard_stream` does of strings, which can be batched for a moment, in one expression."""
    if draft.was(place, Shared) or _helper(draft, [place]) != "shard_stream":
        return ()
    edits = short_shares.of_records(draft, place)
    if not edits or not draft.decide(place, Shared("D1")):
        return ()
    draft.divided = True
    return draft.decided(Decision.SHARED, edits)


def _tell_what_comes_before(draft: Draft, place: ast.expr) -> None:
    """Notes what each rank still does for all elements, since the data can only be divided after it."""
    known = feeding(draft).pipelines
    read = [
        n
        for n in draft.values.depends([place], 100)
        if isinstance(n, ast.Call) and draft.names.last(n.func).endswith(_DECODING)
    ]
    if read:  # gives batches
        line = draft.line_words(read[0], place)
        draft.note("D1", place, f"batches are divided, so every rank reads and decodes all files ({line})")
    late = [s for s in known.steps(place) if draft.names.last(s.func) in ("map", "map_and_batch")]
    if late:
        known_by = [s.args[0] if s.args else s for s in sorted(late, key=lambda s: s.end_lineno or s.lineno)]
        lines = ", ".join(dict.fromkeys(draft.line_words(e, place) for e in known_by))
        draft.note(
            "D1", place, f"the data can only be divided here, so every rank runs `map` ({lines}) on all of it"
        )


# ---------------------------------------------------------------------- functions that make several datasets


def _divide_inside(draft: Draft, call: ast.expr, feed: ast.expr) -> bool:
    """Divides what a function makes for training and for something else inside it, for this call alone: before it decodes."""
    known = feeding(draft)
    if not isinstance(call, ast.Call) or draft.was(call, Shared):
        return False
    function = known.pipelines.values.callee(call)
    places = known.pipelines.places_inside(
        call, known.dataset_feeds, known.bound_batches.has_fixed_batch(feed)
    )
    inside = [p for p in places if draft.syntax.function(p) is function]
    if not places or not isinstance(function, ast.FunctionDef) or any(draft.was(p, Shared) for p in places):
        return False
    if inside and not can_get_a_parameter(draft, function):
        return False
    draft.decide(call, Shared("D1"))
    for place in places:
        if place not in inside and not _divide_inside(draft, place, feed):
            _divide_at(draft, place, feed)
    if inside:
        _divide_for(draft, call, function, inside, feed)
    return True


def _divide_for(
    draft: Draft, call: ast.Call, function: ast.FunctionDef, places: list[ast.expr], feed: ast.expr
) -> None:
    """Divides in a function for one of its calls: where only that comes, or where it says so."""
    own = draft.facts.arms_of_calls.only_for(places, call)
    for place in own:
        _divide_at(draft, place, feed)
    if not own:
        divide_for(draft, call, function, places)


def divide_for(draft: Draft, call: ast.Call, function: ast.FunctionDef, places: list[ast.expr]) -> None:
    """Has a function divide where the call says so: `make(files, share=shard_dataset)`."""
    share = draft.same_name("share")
    edits: list[Edit] = []
    if draft.once("share", function):
        edits.append(new_parameter(draft, function, f"{share}=lambda dataset: dataset"))
    for place in places:
        if draft.once("share", place):
            edits += Edit.around(draft.module.span(place), f"{share}(", ")")
            _tell_what_comes_before(draft, place)
            shuffle_alike(draft, place)
    by = short_shares.as_function(draft, places) or draft.helper(_helper(draft, places))
    edits.append(draft.add_argument(call, f"{share}={by}"))
    draft.divided = True
    draft.change("D1", call, "Give every rank its own part of the dataset", _WHY_INSIDE, edits)


def _separate_cache(draft: Draft, step: ast.Call) -> None:
    """`cache(path)` → a path of its own for each rank: two processes can't fill one cache file."""
    path = argument(step, "filename", 0)
    if path is None or (isinstance(path, ast.Constant) and not path.value):
        return
    if not draft.decide(path, Apart("D1")):
        return
    span = draft.module.span(path)
    opening, closing = ("(", ")") if needs_parentheses(path) else ("", "")
    edits = Edit.around(span, opening, f"{closing} + str({RANK})")
    draft.change(
        "D1", path, "Give every rank a cache file of its own", "Two processes can't fill one cache.", edits
    )


RULE = Rule("D1", "give every rank its own part of a dataset", apply, __doc__ or "")
