"""K4: divides the steps that `fit` takes and validates with, and its epochs where they are counted in steps."""

from __future__ import annotations

import ast

from horovodize.plan import Decision
from horovodize.python.syntax import Function, argument, is_one
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import RANK, SIZE, Draft
from horovodize.rules.loops import few_steps, generators
from horovodize.rules.loops.draws_apart import draws_apart, draws_itself, is_told_a_seed
from horovodize.rules.numbers.shares import (
    WHY,
    begins,
    change_count,
    counts_a_share,
    feeding,
    flows_from_share,
    is_none,
    wrap,
)
from horovodize.rules.rows import arrays, data, global_batch, keras_flows, short_shares
from horovodize.rules.rows.own_experience import plays
from horovodize.rules.rows.told_by_threads import listen_to_fit
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.source.nodes import walk
from horovodize.summary.feeding import FitFeed, Kind
from horovodize.summary.pipeline_counts import is_endless_after, surely_knows_its_length

_ENDS = ("take", "take_while")  # what makes a dataset that repeats end
_EXECUTIONS = "Divide the steps that Keras takes at once"
_WHY_EXECUTIONS = (
    "A rank's epoch has 1/size() of the steps; Keras 3 takes so many at once also where fewer are left of it."
)
_CALLS = (
    "Keras calls this once for `steps_per_execution` steps, which are divided: it counts as many calls as one process did "
    "where size() divides them; check what goes by this count"
)
_PERHAPS_ALIKE = (
    "it can't be seen what this is: its steps are divided, but unless it draws at random, "
    "every rank gets the same batches"
)


def divide_fits(draft: Draft) -> None:
    if not begins(draft, "K4"):
        return
    data.apply(draft)
    arrays.apply(draft)
    for fed in feeding(draft).fits:
        if strong.divide(draft, "K4", [fed.fit.call]) or plays(draft, "K4", [fed.fit.call]):
            continue
        if draft.options.keeps_batch:
            global_batch.divide(draft, "K4", [fed.fit.call])
        else:
            _divide_fit(draft, fed)


def _divide_fit(draft: Draft, fed: FitFeed) -> None:
    call, steps = fed.fit.call, fed.fit.steps
    if strong.takes_one_batch(draft, "K4", [call]) or strong.scaling(draft, call) is strong.Scaling.SAME:
        return _divide_validation(draft, call)
    epochs = argument(call, "epochs", 3 if fed.fit.method == "fit" else None)
    if not is_none(steps):
        assert steps is not None
        if not counts_a_share(draft, steps) and not few_steps.divide_epochs(draft, call, steps, epochs):
            change_count(draft, "K4", steps, "Divide the steps of an epoch among the ranks")
        if draft.keras_3:
            _divide_executions(draft, fed)
        if fed.y is None and fed.kind is Kind.UNKNOWN:
            draft.note("K4", fed.x, _PERHAPS_ALIKE)
    if epochs is not None and _fills_steps(draft, epochs):
        change_count(draft, "K4", epochs, "Divide the epochs that a number of steps takes among the ranks")
    if fed.y is None and fed.kind is Kind.GENERATOR:
        _thin_generator(draft, "K4", fed.x, endless=not is_none(steps))
    elif fed.y is None and fed.kind is Kind.SEQUENCE:
        _share_sequence(draft, fed.x)
    _divide_validation(draft, call)


def _divide_executions(draft: Draft, fed: FitFeed) -> None:
    """`compile(steps_per_execution=50)`: Keras 3 takes as many steps at once also where fewer are left of an epoch."""
    model = fed.fit.model
    made = set(draft.values.calls(model))
    for site in draft.sites.compiles:
        given = argument(site.call, "steps_per_execution")
        is_of = ast.unparse(site.model) == ast.unparse(model) or made & set(draft.values.calls(site.model))
        if given is None or not is_of or draft.values.callee(site.call) is not None:
            continue
        constant = draft.facts.feeding.kinds.constant(given)
        named = isinstance(given, ast.Constant) and constant is None  # "auto": Keras chooses
        if not named and constant != 1 and not counts_a_share(draft, given):
            divided = change_count(draft, "K4", given, _EXECUTIONS, _WHY_EXECUTIONS)
            if (
                divided
                and (counting := _counted_calls(draft)) is not None
                and draft.once("executions", counting)
            ):
                draft.ask("K4", counting, _EXECUTIONS, _WHY_EXECUTIONS, _CALLS)


def _counted_calls(draft: Draft) -> ast.AugAssign | None:
    """Where a callback counts its calls, `self.seen += 1`: there is one for all steps that Keras takes at once."""
    for hook in draft.facts.hooks.all:
        for n in ast.walk(hook.function) if hook.is_of_batches else ():
            if isinstance(n, ast.AugAssign) and isinstance(n.op, (ast.Add, ast.Sub)) and is_one(n.value):
                return n
    return None


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
    edits = wrap(draft, feed, _helper(draft, feed), "K4")
    if edits:
        draft.change("K4", feed, "Give every rank its own batches of the sequence", WHY, edits)


def _helper(draft: Draft, feed: ast.expr) -> str:
    """What deals a sequence out: one of Keras' that shuffles by what no one seeds alike on all ranks is told its order."""
    listen_to_fit(draft)
    defined = "ShardedFlow" in draft.helpers  # it does for one that doesn't shuffle, too
    if not keras_flows.all_shuffle(draft, feed) and not (defined and keras_flows.all_are_flows(draft, feed)):
        return "ShardedSequence"
    draft.stream["random"] = draft.needed_module("random")
    return "ShardedFlow"


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
    if kind in (Kind.ARRAY, Kind.ARRAYS, Kind.MAPPING, Kind.UNKNOWN) or isinstance(data, ast.Tuple):
        return  # what can't be divided is validated on whole: of fewer steps all ranks would take the same first ones
    if kind is Kind.DATASET:
        counted = not draft.in_graph and surely_knows_its_length(feeding(draft).pipelines, data)
        by = "shard_dataset" if counted else "shard_stream"
        if counted:
            draft.all_finite &= short_shares.has_length(draft, data)
        edits = _share_endless(draft, data) or wrap(draft, data, by, "K4")
        if edits:
            draft.change("K4", data, "Validate on another part of the dataset on each rank", WHY, edits)
    elif kind is Kind.GENERATOR:
        if _may_give_all_the_same(draft, data):
            return
        _thin_generator(draft, "K4", data, endless=True)
    elif kind is Kind.SEQUENCE and not arrays.divide_validation_flow(draft, data):
        _share_sequence(draft, data)
    change_count(draft, "K4", steps, "Divide the validation steps among the ranks")


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
    call, generator = feeding(draft).kinds.generated(feed) or (None, None)
    if call is not None and generator is not None and _draws_for_others_only(draft, call, generator):
        generators.share(draft, rule, feed)
        return
    fixed = call is not None and generator is not None and is_told_a_seed(draft, call, generator)
    if endless and generator is not None and draws_apart(draft, rule, generator, of_one_seed=fixed):
        return
    generators.share(draft, rule, feed)


def _may_give_all_the_same(draft: Draft, feed: ast.expr) -> bool:
    """Whether it can't be seen that a generator function which draws at random draws for this call, too: `if self.shuffles:
    random.shuffle(order)`. Else it gives all ranks the same batches."""
    call, generator = feeding(draft).kinds.generated(feed) or (None, None)
    if call is None or generator is None or _draws_for_others_only(draft, call, generator):
        return False
    draws = [c for c in walk(generator) if isinstance(c, ast.Call) and draws_itself(draft, c)]
    return bool(draws) and not any(draft.facts.arms_of_calls.surely_runs(c, call) for c in draws)


def _draws_for_others_only(draft: Draft, call: ast.Call, generator: Function) -> bool:
    """Whether a generator function draws for other calls than this one: `batches(held, shuffles=False)` beside
    `if shuffles: random.shuffle(order)`."""
    draws = [c for c in walk(generator) if isinstance(c, ast.Call) and draft.uniform.draws.draws(c)]
    return bool(draws) and not any(draft.facts.arms_of_calls.may_run(c, call) for c in draws)
