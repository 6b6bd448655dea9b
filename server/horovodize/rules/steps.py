"""K4 steps of `fit`, G4 steps of hand-written loops: the steps of an epoch are divided among the ranks.

What it does   `steps_per_epoch=n` becomes `n // hvd.size()`, so do `validation_steps`, and epochs that are made of a number of
               steps and the length of what is divided (`steps / len(ds)`). Of a `Sequence`, and of a generator
               that yields the same everywhere, rank r takes the batches r, r + size(), … In hand-written loops
               `dataset.take(n)` and `range(n)` are divided likewise; where the loop's variable selects the batch, and in
               loops over batches of another kind, rank r again takes the batches r, r + size(), …; so where a loop selects
               by a variable that it moves on itself (`x[i : i + n]; i += n`). What deals out batches one after another
               deals out size() of them in a step, of which each rank trains on its own. A generator function that makes each
               batch out of its number is divided at the numbers (`for i in shard(range(0, n, 32))`), so that a rank prepares
               no other's.
               What decides how training goes and would differ between ranks (a number of epochs that is drawn, a rate, an
               optimizer or a layer's size drawn at random, a start read from a checkpoint, a host's name) is rank 0's on all:
               `range(hvd.broadcast_object(random.randint(3, 9)))`, `start = hvd.broadcast_object(start)`.
               Where every step sees all rows, and where they fit into one batch of `fit` or of a data set, the rows are divided
               (`share_rows`), and neither rate nor steps are touched. With the setting `batch = "global"`, all ranks together
               take the batches that one process took: `batch_size=share_batch(32)`, `{x: share_rows(x_batch)}`; then rate and
               steps stay everywhere. A batch that ranks can't share evenly stops the program at its start.
Why            Every step averages size() batches, so an epoch is over after 1/size() of the steps. All ranks must take
               equally many: one that takes more waits for the others forever.
Before         for x, y in dataset.take(1000):
                   train_step(x, y)
After          for x, y in dataset.take(1000 // hvd.size()):
                   train_step(x, y)
Leaves alone   The loop over epochs. Loops that only evaluate. Counts made from the length of something divided already.
               A step whose loop is not seen: its rate stays too, which is said.
               A variable that starts again, or is not moved on alike in every turn: that is said.
               A loop that ends with a loss is left on all ranks together: `if any_rank(loss < 0.1): break`. So is a step taken
               on all ranks or on none where a function or an outer loop leaves it out: `if any_rank(len(memory) < 32): return`.
               What an epoch's own losses decide (patience, a rate that is halved), their mean over all ranks decides:
               `mean = mean_over_ranks(np.mean(losses))`.
Refuses        Steps that no rows come into, or that train the input itself: every rank would compute the same (HVD006).
               Several threads that train: they take turns differently on every rank (HVD006).
               Rows of all steps that a loss joins with each other. With `batch = "global"`: a batch of which it can't be seen
               how it is made.
               A loop whose number of steps depends on a game that each rank plays for itself, where the end can't be made
               the same for all; rows that each rank's model makes again in every round; steps by whose outcome weights are
               set back (HVD006); numbers and choices that
               differ where ranks can't be made to agree (HVD205, HVD107).
Asks           A game that each rank plays for itself (`env.step(action)`): nothing is divided there, so there is size() times
               the experience. Rows of all steps whose loss may be no mean. A number of steps, or a condition around training,
               that can't be seen to be the same on all ranks: it is rank 0's now. A loop that ends with a game: all games now
               end with the first. As many steps as a game was long: as long as rank 0's. A loop over something that can't be
               seen: all ranks must get equally many batches from it.
Source         Seed 2.3.2 (`dataset.take`, GradientTape); K4 is beyond the seed. Errata: the seed drops the `tqdm` around.
"""

from __future__ import annotations

import ast
from functools import partial

from horovodize.catalogue import is_hook
from horovodize.facts.calls import is_known
from horovodize.facts.counter_kinds import CounterKind
from horovodize.facts.exits import exits, tests
from horovodize.plan import Decision
from horovodize.rules import (
    arrays,
    averages,
    cursors,
    data,
    generators,
    global_batch,
    learning_rate,
    loop_exits,
    resume,
    seeded_games,
    strong,
)
from horovodize.rules.decisions import Fewer, Shared, Unseen
from horovodize.rules.draft import RANK, SIZE, Draft
from horovodize.rules.drawing import ORDER, draws_apart, ends_loop, own_batches
from horovodize.rules.lockstep import keep_in_step, learns_from_a_game
from horovodize.rules.ranges import (
    EVERYTHING,
    STORED,
    WHY,
    counts_from,
    counts_ranks,
    deal_pairs,
    divide_from,
    divide_range,
    divide_rest,
)
from horovodize.rules.rule import Rule
from horovodize.rules.shares import (
    PLENTY,
    begins,
    counts_a_share,
    divide,
    feeding,
    flows_from_share,
    is_none,
    wrap,
)
from horovodize.source import Edit
from horovodize.summary.cursors import cursors_of
from horovodize.summary.feeding import Driver, FitFeed, Kind
from horovodize.summary.pipeline_counts import is_endless_after
from horovodize.summary.selecting import uses_of
from horovodize.summary.syntax import COMPREHENSIONS, argument

_ENDS = ("take", "take_while")  # what makes a dataset that repeats end
_PERHAPS_ALIKE = (
    "it can't be seen what this is: its steps are divided, but unless it draws at random, "
    "every rank gets the same batches"
)
_SAME_ROWS = "the last step is divided, but a count of this loop's own selects the rows, and all ranks would feed the same"
_PLAY = "Let each rank play games of its own"
_WHY_PLAY = (
    "What a game gives is no data that could be divided: rate, loops and all that is counted in them stay."
)
_PLAYED = (
    "every rank plays as many games as one process did, so training sees size() times the experience; neither the rate nor "
    "the number of games is changed: play fewer of them if one process's experience is enough"
)
_BESIDE = "the data set beside it is divided by rows, not by batches: check that their batches needn't belong together"
_IN_ORDER = (
    f"each step goes on from the state of the one before, so the batches are not divided: {EVERYTHING}; give each rank a "
    "stretch of the data of its own"
)
_METHOD = (
    "the weights are set here by what the steps before came to, so their number is part of the method and can't be divided, "
    "and the weights that each rank kept before them differ"
)
_UNCOUNTED = f"it can't be seen how many steps this loop takes, so it is not divided: {EVERYTHING}"


# ---------------------------------------------------------------------- K4: fit


def divide_fits(draft: Draft) -> None:
    if not begins(draft, "K4"):
        return
    data.apply(draft)
    arrays.apply(draft)
    for fed in feeding(draft).fits:
        if strong.divide(draft, "K4", [fed.fit.call]) or _plays(draft, "K4", [fed.fit.call]):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, "K4", [fed.fit.call])
        else:
            _divide_fit(draft, fed)


def _divide_fit(draft: Draft, fed: FitFeed) -> None:
    call, steps = fed.fit.call, fed.fit.steps
    if strong.takes_one_batch(draft, "K4", [call]) or strong.scaling(draft, call) is strong.Scaling.SAME:
        return _divide_validation(draft, call)
    if not is_none(steps):
        assert steps is not None
        if not counts_a_share(draft, steps):
            _change(draft, "K4", steps, "Divide the steps of an epoch among the ranks")
        if fed.y is None and fed.kind is Kind.UNKNOWN:
            draft.note("K4", fed.x, _PERHAPS_ALIKE)
    epochs = argument(call, "epochs", 3 if fed.fit.method == "fit" else None)
    if epochs is not None and _fills_steps(draft, epochs):
        _change(draft, "K4", epochs, "Divide the epochs that a number of steps takes among the ranks")
    if fed.y is None and fed.kind is Kind.GENERATOR:
        _thin_generator(draft, "K4", fed.x, endless=not is_none(steps))
    elif fed.y is None and fed.kind is Kind.SEQUENCE:
        _share_sequence(draft, fed.x)
    _divide_validation(draft, call)


def _fills_steps(draft: Draft, epochs: ast.expr) -> bool:
    """`ceil(all_steps / len(ds))`: as many epochs as fill a number of steps, of which one of a rank now has fewer."""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, (ast.Div, ast.FloorDiv))
        and counts_a_share(draft, n.right)
        and not counts_a_share(draft, n.left)
        for n in draft.values.depends([epochs], 200)
    )


def _share_sequence(draft: Draft, feed: ast.expr) -> None:
    """A `Sequence`, `flow_from_directory`: every size()-th batch. Not where its arrays are divided already."""
    if flows_from_share(draft, feed):
        return
    edits = wrap(draft, feed, "ShardedSequence", "K4")
    if edits:
        draft.change("K4", feed, "Give every rank its own batches of the sequence", WHY, edits)


def _divide_validation(draft: Draft, call: ast.Call) -> None:
    """`validation_steps`, and the data with it, so that the ranks validate on different parts of it."""
    data = argument(call, "validation_data")
    steps = argument(call, "validation_steps")
    steps = steps if steps is not None else argument(call, "nb_val_samples")
    if is_none(steps) or is_none(data):
        return
    assert steps is not None
    assert data is not None
    if counts_a_share(draft, steps):
        return
    kind = feeding(draft).kinds.of(data)
    if kind in (Kind.ARRAY, Kind.ARRAYS, Kind.MAPPING) or isinstance(data, ast.Tuple):
        return
    if kind is Kind.DATASET:
        edits = _share_endless(draft, data) or wrap(draft, data, "shard_stream", "K4")
        if edits:
            draft.change("K4", data, "Validate on another part of the dataset on each rank", WHY, edits)
    elif kind is Kind.GENERATOR:
        _thin_generator(draft, "K4", data, endless=True)
    elif kind is Kind.SEQUENCE:
        _share_sequence(draft, data)
    _change(draft, "K4", steps, "Divide the validation steps among the ranks")


def _share_endless(draft: Draft, data: ast.expr) -> tuple[Edit, ...]:
    """`dataset.shard(size, rank)` of what repeats without end: every rank finds as many elements as it takes."""
    pipelines = feeding(draft).pipelines
    ends = any(isinstance(s.func, ast.Attribute) and s.func.attr in _ENDS for s in pipelines.steps(data))
    postfix = isinstance(data, (ast.Name, ast.Attribute, ast.Call))
    if ends or not postfix or not is_endless_after(pipelines, draft.module.tree, data):
        return ()
    if not draft.decide(data, Shared("K4")):
        return ()
    draft.divided = True
    span = draft.module.span(data)
    return draft.decided(Decision.SHARED, [Edit.insert(span.end, f".shard({SIZE}, {RANK})", span)])


def _thin_generator(draft: Draft, rule: str, feed: ast.expr, *, endless: bool) -> None:
    """A generator that yields the same on every rank is thinned; one that draws at random already differs."""
    generator = feeding(draft).kinds.generator(feed)
    if endless and generator is not None and draws_apart(draft, rule, generator):
        return
    generators.share(draft, rule, feed)


# ---------------------------------------------------------------------- G4: hand-written loops


def loop_rule(draft: Draft) -> str:
    """Under which rule the loops of a draft are divided: those of sessions under S5."""
    return "S5" if draft.in_graph else "G4"


def divide_loops(draft: Draft) -> None:
    if draft.once("keep in step", draft.module.tree):
        keep_in_step(draft)  # whether or not the data is divided
    if not begins(draft, "G4"):
        return
    data.apply(draft)
    arrays.apply(draft)
    known = feeding(draft)
    for feed in known.dataset_feeds:
        if not draft.facts.undivided.is_whole(feed) and not draft.facts.steps.is_one_batch(feed):
            _divide_takes(draft, feed)
    for driver in known.drivers:
        if strong.divide(draft, loop_rule(draft), driver.steps):
            continue
        if _plays(draft, loop_rule(draft), driver.steps):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, loop_rule(draft), driver.steps)
            continue
        if strong.takes_one_batch(draft, loop_rule(draft), driver.steps):
            continue
        before = len(draft.changes)
        _divide_driver(draft, driver)
        if len(draft.changes) > before:
            draft.decide(driver.loop, Fewer(loop_rule(draft)))
            averages.keep(draft, driver, loop_rule(draft))
        if driver.kind is Kind.DATASET:
            averages.keep_of_dataset(draft, driver, loop_rule(draft))
        own_batches(draft, driver, loop_rule(draft), partial(learning_rate.gives_rate, draft))
    for site in known.undriven:
        if strong.divide(draft, loop_rule(draft), [site]) or _plays(draft, loop_rule(draft), [site]):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, loop_rule(draft), [site])
            continue
        strong.leave(draft, [site])
        draft.note(
            loop_rule(draft),
            site,
            f"{_why_undriven(draft, site)}, so it is not divided, and its rate stays: {EVERYTHING}",
        )


def _why_undriven(draft: Draft, site: ast.Call) -> str:
    around = [a for way in draft.drive.ways(site) for f in way for a in draft.syntax.ancestors(f.node)]
    if any(isinstance(a, COMPREHENSIONS) for a in around):
        return "this step is taken inside a comprehension"
    if any(isinstance(a, ast.Lambda) for a in around):
        return "this step is taken by a `lambda`, whose calls are not followed"
    if any(f.loops for way in draft.drive.ways(site) for f in way):
        return "the loops around this step are short, or choose what is trained: none brings it its data"
    return "the loop that runs this step is not in this file"


def _divide_takes(draft: Draft, feed: ast.expr) -> None:
    """`take(n)` of batches, or of a pipeline that repeats, counts steps."""
    pipelines = feeding(draft).pipelines
    for step in pipelines.steps(feed):
        count = argument(step, "count", 0)
        assert isinstance(step.func, ast.Attribute)
        if (
            step.func.attr != "take"
            or count is None
            or draft.was(step, Shared)
            or not pipelines.grouped_before(step)
        ):
            continue
        if isinstance(count, ast.UnaryOp) or _is_divided_after(draft, step) or counts_a_share(draft, count):
            continue
        if not divide_rest(draft, count, loop_rule(draft)):
            _change(draft, loop_rule(draft), count, "Divide the steps among the ranks")


def _is_divided_after(draft: Draft, step: ast.Call) -> bool:
    """Whether a pipeline is divided at or after one of its steps."""
    return any(draft.was(a, Shared) for a in [step, *draft.syntax.ancestors(step)] if isinstance(a, ast.expr))


def _divide_driver(draft: Draft, driver: Driver) -> None:
    if feeding(draft).carries_state(driver):
        return _leave_in_order(draft, driver)
    method = draft.facts.undivided.set_back(driver)
    if method is not None:
        draft.refuse("HVD006", method, _METHOD)
        return
    if draft.facts.undivided.is_loop(driver):
        return  # said where the data come from
    if feeding(draft).bound_batches.carries_layers_state(driver):
        return _leave_in_order(draft, driver)
    if isinstance(driver.loop, ast.While):
        return _divide_while(draft, driver, driver.loop)
    e = driver.iterable
    if e is None:
        return
    if feeding(draft).kinds.is_endless(e):
        return _divide_endless(draft, driver, e)
    if driver.kind is Kind.RANGE:
        return _divide_range(draft, driver, e)
    if driver.kind is not Kind.DATASET and not _divide_zipped(draft, driver, e):
        _deal_batches(draft, driver, e)
    loop_exits.divide_ends(draft, driver, loop_rule(draft))


def _leave_in_order(draft: Draft, driver: Driver) -> None:
    """Says of a loop that its batches can't be dealt out: a recurrent network's state goes from each to the next."""
    strong.leave(draft, driver.steps)
    draft.note(loop_rule(draft), driver.loop, _IN_ORDER)


def _plays(draft: Draft, rule: str, steps: list[ast.Call]) -> bool:
    """Whether steps learn from a game that each rank plays for itself; then nothing is divided, and it is asked once."""
    games = [draft.facts.steps.game(step) for step in steps]
    game = next((g for g in games if g is not None), None)
    if game is None and not any(learns_from_a_game(draft, step) for step in steps):
        return False
    strong.leave(draft, steps)
    loops = [loop for way in draft.drive.ways(steps[0]) for frame in way for loop in frame.loops]
    place = loops[-1] if loops else steps[0]
    if draft.once("games", place):
        draft.ask(rule, place, _PLAY, _WHY_PLAY, _PLAYED)
        seeded_games.tell(draft, rule, loops)
    return True


def _divide_zipped(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """`zip(range(n), dataset)`: the datasets are divided where they are made, a number of steps is here. Other batches beside a
    number are dealt out, so that the number goes on by one with each turn of a rank. Whether nothing else is zipped."""
    zipped = (
        e.args if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "zip" else [e]
    )
    others = [z for z in zipped if not feeding(draft).pipelines.is_dataset(z)]
    counts = [loop_exits.counted(draft, z) for z in others]
    spans = [span for z in others if (span := counts_from(draft, z)) is not None]
    dealt = [z for z, count in zip(others, counts, strict=True) if count is None and z not in spans]
    if dealt and (len(others) != len(zipped) or not _only_counts(draft, driver, zipped, dealt)):
        return False
    if not dealt and len(others) == len(zipped):
        return False
    for batches in dealt:
        _deal(draft, driver, batches, batches)
    for count in counts:
        if isinstance(count, ast.expr) and not counts_a_share(draft, count):
            _change(draft, loop_rule(draft), count, "Divide the steps among the ranks")
    for span in spans:
        divide_from(draft, driver, span, loop_rule(draft))
    return True


def _only_counts(draft: Draft, driver: Driver, zipped: list[ast.expr], dealt: list[ast.expr]) -> bool:
    """Whether there are numbers beside batches, and no data are selected by them."""
    targets = (
        driver.loop.target.elts
        if isinstance(driver.loop, ast.For) and isinstance(driver.loop.target, ast.Tuple)
        else []
    )
    numbers = [t for t, z in zip(targets, zipped, strict=False) if z not in dealt]
    uses = [uses_of(feeding(draft), driver.loop, t.id) for t in numbers if isinstance(t, ast.Name)]
    return 0 < len(numbers) == len(uses) and all(u is not None and not u.selecting for u in uses)


def _deal_batches(draft: Draft, driver: Driver, e: ast.expr) -> None:
    if draft.drive.in_traced(driver.loop):
        said = f"this loop runs inside a `tf.function` and is not divided: {EVERYTHING}"
        draft.note(loop_rule(draft), e, said)
        strong.leave_loop(draft, driver)
        return
    if isinstance(driver.loop, ast.AsyncFor):
        draft.note(loop_rule(draft), e, f"this loop awaits its batches and is not divided: {EVERYTHING}")
        strong.leave_loop(draft, driver)
        return
    numbered = draft.facts.dealt.numbered(driver)
    if _deal_beside(draft, e) or deal_pairs(draft, driver, e, loop_rule(draft)):
        return
    if numbered is None and generators.divide_inside(draft, loop_rule(draft), e):
        return data.shuffle_alike(draft, e)
    _deal(draft, driver, e, numbered or e)


def _deal(draft: Draft, driver: Driver, e: ast.expr, wrapped: ast.expr) -> None:
    """Deals out what a loop iterates, or a part of it."""
    edits = wrap(draft, wrapped, "shard_batches", loop_rule(draft))
    if edits:
        unclear = driver.kind is Kind.UNKNOWN and feeding(draft).kinds.is_opaque(e)
        doubt = "it can't be seen what this loop iterates; all ranks must get equally many batches from it"
        what = "Give every rank its own batches"
        draft.change(loop_rule(draft), e, what, WHY, edits, doubt=doubt if unclear else "")
        data.shuffle_alike(draft, e)
        if _is_made_elsewhere(draft, e):
            draft.note(loop_rule(draft), e, ORDER)


def _is_made_elsewhere(draft: Draft, e: ast.expr) -> bool:
    """Whether a function of a module that is not read makes what is iterated."""
    made = (o.node for o in draft.values.origins(e) if isinstance(o.node, ast.Call))
    names = (draft.names.of(c.func) for c in made if draft.values.callee(c) is None)
    return any(name is not None and not is_known(name) for name in names)


def _deal_beside(draft: Draft, e: ast.expr) -> bool:
    """`zip(dataset, cycle(others))`, where the data set is divided already where it is made: each rank takes its own batches of
    what goes beside it. Whether it is such a zip."""
    zipped = e.args if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "zip" else []
    pipelines = feeding(draft).pipelines
    divided = [z for z in zipped if any(draft.was(t, Shared) for t in pipelines.trail(z))]
    for beside in (z for z in zipped if z not in divided) if divided else ():
        edits = wrap(draft, beside, "shard_batches", loop_rule(draft))
        if edits:
            endless = isinstance(beside, ast.Call) and draft.names.last(beside.func) == "cycle"
            doubt = "" if endless else _BESIDE
            draft.change(loop_rule(draft), beside, "Give every rank its own batches", WHY, edits, doubt=doubt)
    return bool(divided)


def _divide_range(draft: Draft, driver: Driver, e: ast.expr) -> None:
    rule = loop_rule(draft)
    found = [] if driver.indexed else cursors_of(feeding(draft), driver)
    if cursors.note_unsteady(draft, driver, found, rule):
        return
    before, counted = len(draft.changes), _counted(draft, driver, e)
    divide_range(draft, driver, e, rule)
    if len(draft.changes) > before:
        cursors.select_own(draft, driver, found, counted, rule)


def _divide_endless(draft: Draft, driver: Driver, e: ast.expr) -> None:
    """`for step in itertools.count(): … if step >= n: break`; rows that are selected by such a number stay the same on all
    ranks."""
    if driver.indexed or cursors_of(feeding(draft), driver):
        strong.leave(draft, driver.steps)
        draft.note(loop_rule(draft), e, _UNCOUNTED)
    elif not loop_exits.divide_exits(draft, driver.loop, loop_rule(draft)):
        _leave_uncounted(draft, driver, e)


def _counted(draft: Draft, driver: Driver, e: ast.expr) -> str:
    """How many turns a loop over a range has, as an expression; nothing where they are many."""
    if not isinstance(e, ast.Call):
        return f"len({draft.module.text(e)})"
    known = feeding(draft).kinds.constant(e.args[-1])
    return "" if known is not None and known >= 2 * PLENTY else f"len({draft.module.text(e)})"


def _divide_while(draft: Draft, driver: Driver, loop: ast.While) -> None:
    """`while step < n` with `step += 1` in its body."""
    found = cursors_of(feeding(draft), driver)
    hooked = "should_stop" in ast.unparse(loop.test) and _has_stop_hook(draft)
    if hooked and any(c.step is None or not draft.can_insert(loop.body[0]) for c in found):
        draft.refuse(
            "HVD006",
            loop,
            f"{_SAME_ROWS}; let every turn move `{found[0].name}` on alike, after what it selects",
        )
        return
    if cursors.note_unsteady(draft, driver, found, loop_rule(draft)):
        return
    if found and hooked:
        return cursors.select_own(draft, driver, found, "", loop_rule(draft))
    if found and not cursors.divide_test(draft, loop, found, loop_rule(draft)):
        _leave_uncounted(draft, driver, loop.test)
    elif not found:
        _divide_turns(draft, driver, loop)


def _divide_turns(draft: Draft, driver: Driver, loop: ast.While) -> None:
    test = loop.test
    if resume.ends_by_stored(draft, driver):
        return  # the count goes on faster instead
    if feeding(draft).next_calls(driver):
        shared = [
            f
            for f in feeding(draft).next_calls(driver)
            if any(draft.was(e, Shared) for e in feeding(draft).pipelines.trail(f))
        ]
        if shared and isinstance(test, ast.Constant):
            return  # it ends with the rank's share
    stops = isinstance(test, ast.Constant) or "should_stop" in ast.unparse(test)
    if stops and loop_exits.divide_exits(draft, loop, loop_rule(draft)):
        found = (test for leaving in exits(loop) for test in tests(draft.syntax, leaving, loop))
        return _tell_restored(draft, loop, list(found))
    if isinstance(test, ast.Constant) and any(
        _ends_with_its_share(draft, f) for f in feeding(draft).graph_feeds
    ):
        return
    if ends_loop(draft, driver, test):
        draft.decide(loop, Fewer(loop_rule(draft)))
        draft.divided = True
        return _tell_restored(draft, loop, [test])
    if (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], (ast.Lt, ast.LtE))
        and (loop_exits.counts(draft, loop, test.left) or _adds_up(draft, driver, test.left))
        and not counts_a_share(draft, test.comparators[0])
    ):
        _change(draft, loop_rule(draft), test.comparators[0], "Divide the steps among the ranks")
        return _tell_restored(draft, loop, [test])
    if "should_stop" in ast.unparse(test) and (_is_stopped(draft) or _ends_by_own_hook(draft, driver)):
        return
    _leave_uncounted(draft, driver, loop.test)


def _tell_restored(draft: Draft, loop: ast.While, ends: list[ast.expr]) -> None:
    """Says that what TensorFlow counts is a rank's steps, where a loop ends by it and a checkpoint gives it back."""
    if not draft.sites.method_calls("restore"):
        return
    if any(counts_ranks(draft, end) for end in ends):
        draft.note(loop_rule(draft), loop, STORED)


def _adds_up(draft: Draft, driver: Driver, e: ast.expr) -> bool:
    """`seen` of `while seen < total: … seen += batch_size`"""
    counter = draft.facts.counters.of(e)
    return counter is not None and counter.kind is CounterKind.NUMBER and driver in counter.drivers


def _leave_uncounted(draft: Draft, driver: Driver, end: ast.expr) -> None:
    """`end`: by what the loop goes on."""
    if strong.leave_loop(draft, driver):
        draft.note(loop_rule(draft), end, _UNCOUNTED)
    else:
        draft.decide(driver.loop, Unseen(loop_rule(draft), end))


def _is_stopped(draft: Draft) -> bool:
    """Whether a MonitoredSession stops after its share: at a hook's step (M3), or with the data."""
    if _has_stop_hook(draft):
        return True
    return any(_ends_with_its_share(draft, f) for f in feeding(draft).graph_feeds)


def _ends_by_own_hook(draft: Draft, driver: Driver) -> bool:
    """Whether a hook of the program's own stops the sessions of a loop after so many steps, which are divided there (G5)."""
    counters, syntax = draft.facts.counters, draft.syntax
    owners = [(c, syntax.method_class(syntax.function(c))) for c in draft.module.calls_called("request_stop")]
    stops = [c for c, o in owners if o is not None and any(map(is_hook, draft.values.ancestors(o)))]
    tests = [t.test for c in stops for t, arm in syntax.conditions(c) if arm == "body"]
    found = [loop_exits.compared(t, (ast.Gt, ast.GtE, ast.Eq)) for t in tests]
    counted = [counters.of(end[0]) for end in found if end is not None]
    if not any(c is not None and driver in c.drivers for c in counted):
        return False
    draft.divided = True
    draft.decide(driver.loop, Fewer(loop_rule(draft)))
    return True


def _has_stop_hook(draft: Draft) -> bool:
    return any(draft.names.last(c.func) == "StopAtStepHook" for c in draft.syntax.calls)


def _ends_with_its_share(draft: Draft, feed: ast.expr) -> bool:
    """Whether a divided dataset comes to an end, and the loop over it with it."""
    pipelines = feeding(draft).pipelines
    endless = any(
        draft.names.last(s.func) == "repeat" and is_none(argument(s, "count", 0))
        for s in pipelines.steps(feed)
    )
    return not endless and any(draft.was(e, Shared) for e in pipelines.trail(feed))


def _change(draft: Draft, rule: str, count: ast.expr, what: str) -> None:
    edits = divide(draft, count, rule)
    if edits:
        draft.change(rule, count, what, WHY, edits)


K4 = Rule("K4", "divide the steps of fit among the ranks", divide_fits, __doc__ or "")
G4 = Rule("G4", "divide the steps of a training loop among the ranks", divide_loops, __doc__ or "")
