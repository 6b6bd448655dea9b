"""G2 broadcast, K6 train_on_batch: every rank takes rank 0's variables once: before the first step, or right after it.

What it does   Before the loop, where the model surely has its variables there (it is functional, knows its input's shape or is
               built) and the optimizer was just made: `hvd.broadcast_variables(model.variables, root_rank=0)`. Else
               in the loop that takes the steps, after the step: `if first_batch:` broadcast the model's variables (all of
               them, batch-norm statistics included) and the optimizer's. Steps of several models in one loop share one block;
               every loop has a flag of its own, which holds until all models that the loop picks had their first step. Where
               batch normalization is used, rank 0's statistics are taken again when the loop ends: they are never averaged, so
               they drift apart. In a function that takes no step at first (`if len(memory) < 32: return`), the block stands
               after the step.
               What a loop's steps look at and another loop trains later (a generator, while its critic has its first turns) is
               broadcast with what they train.
               What the program keeps beside the model and brings up to date from it (a target network, moving averages) is
               broadcast with it, and so is what the loss is made with but no step trains (a random network, a frozen layer,
               a variable that each rank draws). A number that each step sets by the rank's own rows, and that later losses are
               made with, is averaged where it is set: `k = mean_over_ranks(k + 0.001 * (gamma * real - fake))`.
               Weights that are kept as numbers before the first step, and trained with later (`start = model.get_weights()`,
               set again in each fold), are rank 0's: the model is broadcast before, too; likewise before it says what is
               trained on (`rows = model(x)[:, 0] > 0.9`).
Why            Ranks start from different random weights and must not go on with them. Before the first step, a model may
               have no variables yet; an optimizer has no slots then, and makes the same ones on every rank.
Before         for x, y in dataset:
                   train_step(x, y)
After          first_batch = True
               for x, y in dataset:
                   train_step(x, y)
                   if first_batch:
                       hvd.broadcast_variables([*model.variables, *optimizer.variables()], root_rank=0)
                       first_batch = False
Leaves alone   A model's own `train_step` under `fit`: the callback broadcasts (K3).
               Variables that are updated by hand (`w.assign_sub(rate * gradient)`) have no optimizer: they are broadcast alone.
Refuses        A step of which the model or the optimizer can't be named where the loop is; steps whose loop runs inside a
               traced function that restores a checkpoint; a class of the file with an `apply_gradients` of its own that is no
               TensorFlow optimizer (HVD006).
Asks           Whether a mean of such numbers is meant. Variables that the loss is made with and that each rank sets by its own
               rows (a quantizer's codebook, a queue of keys); a weight of the loss that changes under a condition of its rows.
               What a program remembers of each row, and makes later losses with (temporal ensembling).
Source         Seed 2.4.1, `apply_gradients`. Errata: the seed binds `z = zip(…)`, applies it and reads it again: empty,
               nothing is broadcast; its flag inside `@tf.function` is read while tracing, so the broadcast never runs or runs
               in every step (measured, horovod#1402); one flag for two models leaves the second without; models that are
               dictionaries of variables have no `variables`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from horovodize.python.syntax import FUNCTIONS, Loop, is_super
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import CORE, KERAS, LINE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.elastic.names import Synced
from horovodize.rules.rates import restored_rates
from horovodize.rules.weights import (
    copied_by_measures,
    first_answers,
    kept_weights,
    layer_state,
    memories,
    numbered_as_met,
    sent_together,
    statistics,
    steering_flags,
)
from horovodize.rules.weights.broadcast_ahead import Step, loop_to_come_before
from horovodize.rules.weights.drifting import ask_of_drifting
from horovodize.rules.weights.steered import keep_alike
from horovodize.rules.weights.step_place import Place, place_of
from horovodize.rules.weights.step_state import optimizer_text, variable_texts, variables_of_optimizer, whole
from horovodize.rules.weights.subclass_parts import guarded
from horovodize.rules.weights.target_networks import Copy, copies_at, looked_at, made_of, trained_by

_WHY = "Ranks start from different random weights; from here on they hold the same."

_COUNT_RESTORED = (
    "this loop runs inside a traced function, where only the optimizer's step count can tell the first step; "
    "a checkpoint that is restored changes it. Move the loop out of the traced function"
)
_SUPER = (
    "this trains by `super()`, which means nothing where the training loop is: the optimizer can't be named there to scale its "
    "rate and send its state; call its `apply_gradients` from outside of its class"
)
_MANY = 4  # lists of variables that are sent by a loop
_LINE = 100  # columns of a line that sends several of them


@dataclass
class _Block:
    """What is broadcast after one statement."""

    place: Place
    site: ast.Call
    variables: dict[str, str | None] = field(
        default_factory=dict
    )  # text → what it is, if the name is new there
    optimizers: dict[str, None] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def apply(draft: Draft) -> None:
    blocks: list[_Block] = []
    for update in draft.sites.updates:
        optimizer = update.optimizer
        own = _own_class(draft, optimizer) if optimizer is not None else None
        if optimizer is not None and own is not None:
            draft.refuse(
                "HVD006",
                update.call,
                f"`{draft.module.text(optimizer)}` is an object of `{own.name}`, a class of this file that is no "
                "TensorFlow optimizer: how it updates can't be followed",
            )
        elif update.step_of is None and optimizer is not None and is_super(optimizer):
            draft.refuse("HVD006", update.call, _SUPER)
        elif update.step_of is None:
            _collect(draft, blocks, update.call, update.variables, optimizer)
    for fit in draft.sites.fits:
        if fit.method == "train_on_batch":
            _collect(draft, blocks, fit.call, (fit.model,), None, of_model=True)
    merged = _merged(draft, blocks)
    for block in merged:
        partners = list(_partners(draft, block, merged))
        block.copies = copies_at(draft, block.place, {*block.variables})
        ask_of_drifting(draft, block.place)
        steps = [*block.steps, *(_looking_at(draft, block, copy) for copy in partners)]
        ahead = loop_to_come_before(draft, steps) if not block.copies else None
        if ahead is None and partners:
            block.copies = copies_at(draft, block.place, {*block.variables}, partners)
        drifts = statistics.may_have_statistics(draft)  # and ranks' differ right after the first step
        if draft.options.elastic:
            draft.synced.append(Synced(block.place, block.variables, block.optimizers, tuple(block.copies)))
        elif ahead is not None and (partners or not drifts):
            _write_ahead(draft, block, *ahead)
            if drifts:
                _write(draft, block)
        else:
            _write(draft, block)
    keep_alike(draft)
    steering_flags.keep_alike(draft)
    kept_weights.begin_alike(draft, [block.place for block in merged])
    first_answers.agree(draft, "G2")
    numbered_as_met.ask(draft)
    memories.ask(draft)
    copied_by_measures.ask(draft)
    layer_state.apply(draft, "G2")


def _own_class(draft: Draft, optimizer: ast.expr) -> ast.ClassDef | None:
    """The class of this file that an optimizer is an object of, if that only looks like an optimizer of TensorFlow."""
    for made in draft.values.calls(optimizer):
        cls = draft.values.callee(made)
        if isinstance(cls, ast.ClassDef) and not draft.module.is_optimizer(made):
            methods = (s for member in draft.values.family(cls) for s in member.body)
            if any(isinstance(s, FUNCTIONS) and s.name == "apply_gradients" for s in methods):
                return cls
    return None


def _collect(
    draft: Draft,
    blocks: list[_Block],
    site: ast.Call,
    variables: tuple[ast.expr, ...],
    optimizer: ast.expr | None,
    *,
    of_model: bool = False,
) -> None:
    """Finds where a step's variables are broadcast, and what they are called there. `of_model`: the optimizer's are the model's
    optimizer's."""
    variables = tuple(w for v in variables for w in whole(draft, v))
    ways = draft.drive.ways(site)
    for way in ways:
        place = place_of(draft, site, way, [*variables, *([optimizer] if optimizer is not None else [])])
        if place is None:
            continue
        block = _Block(place, site, steps=[Step(place, variables, optimizer)])
        for expression in variables:
            block.variables |= variable_texts(draft, expression, place)
        if optimizer is not None:
            state = optimizer_text(draft, optimizer, place)
            if restored_rates.is_sent(draft, optimizer):
                state = f"[*{state}, {state.rpartition('.')[0]}.learning_rate]"
            block.optimizers[state] = None
        elif of_model:
            model = next(iter(block.variables), "").removesuffix(".variables")
            block.optimizers[f"{model}.optimizer.{variables_of_optimizer(draft)}"] = None
        if not block.variables:
            draft.refuse(
                "HVD006",
                site,
                "it can't be seen which variables this step trains, so ranks would start from different ones; pass "
                "`model.trainable_variables`",
            )
            continue
        blocks.append(block)


def _merged(draft: Draft, blocks: list[_Block]) -> list[_Block]:
    """Blocks after statements of one list of statements become one, after the last of them. What is sent already wherever a
    block comes, `if a < b:` another step of the same networks, needs none."""
    merged: list[_Block] = []
    for block in sorted(blocks, key=lambda b: (b.place.statement.lineno, b.place.statement.col_offset)):
        for other in merged:
            if draft.syntax.block(other.place.statement) is draft.syntax.block(block.place.statement):
                other.variables |= block.variables
                other.optimizers |= block.optimizers
                other.steps += block.steps
                other.place = _later(other.place, block.place)
                break
            if _is_sent_before(draft, other, block):
                other.steps += block.steps
                break
        else:
            merged.append(block)
    return merged


def _is_sent_before(draft: Draft, first: _Block, second: _Block) -> bool:
    """Whether a block stands in a statement that follows what sends the same variables, in one list of statements."""
    if not (
        first.variables.keys() >= second.variables.keys()
        and first.optimizers.keys() >= second.optimizers.keys()
    ):
        return False
    if (
        first.place.frame.function is not second.place.frame.function
        or first.place.chosen
        or second.place.chosen
    ):
        return False
    beside = draft.syntax.block(first.place.statement)
    around = (a for a in draft.syntax.ancestors(second.place.statement) if a in beside)
    own, then = beside.index(first.place.statement), next((beside.index(a) for a in around), -1)
    new = {ast.unparse(n) for s in beside[own + 1 : then + 1] for n in ast.walk(s) if _is_bound(n)}
    sent = [*first.variables, *first.optimizers]
    return then > own and not any(
        re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for text in sent for name in new
    )


def _is_bound(n: ast.AST) -> bool:
    """Whether a name, or an attribute, gets another value there: a model of its own, perhaps."""
    return isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store)


def _partners(draft: Draft, block: _Block, blocks: list[_Block]) -> Iterator[Copy]:
    """The networks that the steps of a block look at, and that only later blocks send: a generator, in the loop that trains its
    critic for some turns first."""
    here = block.place
    later = [b for b in blocks if b is not block and not _comes_first(draft, b.place, here)]
    if not later or here.in_graph is not None:
        return
    own = trained_by(draft, [v for step in block.steps for v in step.trained])
    others = trained_by(draft, [v for b in later for step in b.steps for v in step.trained])
    for copy, site in looked_at(draft, here, own):
        if made_of(draft, copy.value if isinstance(copy, ast.Attribute) else copy) & others:
            yield copy, site


def _comes_first(draft: Draft, first: Place, second: Place) -> bool:
    """Whether what is sent at one place is surely sent within the first turn of another place's loop, or before that loop."""
    if first.frame.function is not second.frame.function or first.loop is None or second.loop is None:
        return False
    around = [test for test, _ in draft.syntax.conditions(second.statement)]
    if any(test not in around for test, _ in draft.syntax.conditions(first.statement)):
        return False  # it may not be sent in the first turn
    if first.loop is second.loop or draft.syntax.inside(first.loop, second.loop):
        return True
    return first.loop.lineno < second.loop.lineno and not draft.syntax.inside(second.loop, first.loop)


def _looking_at(draft: Draft, block: _Block, copy: Copy) -> Step:
    """What a block's steps look at, as if they trained it."""
    expression, site = copy
    here = block.place.frame.function
    found = (
        (way, depth)
        for way in draft.drive.ways(site)
        for depth, frame in enumerate(way)
        if frame.function is here and frame.loops
    )
    way, depth = next(found, (block.place.way, block.place.depth))
    return Step(replace(block.place, way=way, depth=depth), (expression,), block.steps[0].optimizer)


def _later(first: Place, second: Place) -> Place:
    """The place of two blocks that become one: after the second statement, the flag as often as either needs it."""
    second = replace(second, chosen=second.chosen or first.chosen, choosing=second.choosing or first.choosing)
    if first.since is None or second.since is None or first.since not in second.frame.loops:
        return second
    inner = min(first.since, second.since, key=second.frame.loops.index)
    return replace(second, since=inner)


def _write_ahead(draft: Draft, block: _Block, loop: Loop, variables: list[str]) -> None:
    """Sends the variables before the loop: no flag is needed."""
    new = [v for v in variables if draft.once(f"broadcast {v}", loop)]
    calls = _sending(draft, loop, new)
    edits = [draft.before(loop, calls)] if calls else []
    draft.change(
        _rule(draft, block), block.site, "Broadcast rank 0's variables before the first step", _WHY, edits
    )


def _sending(draft: Draft, place: ast.stmt, lists: Sequence[str]) -> list[str]:
    """The lines that send lists of variables: as few as they fit into, or a loop over many short ones."""
    lines = [guarded(draft, place, v, f"{CORE}.broadcast_variables({v}, root_rank=0)") for v in lists]
    if any(len(of_one) > 1 for of_one in lines):
        return [line for of_one in lines for line in of_one]
    together = sent_together.lines(lists, _LINE)
    each = draft.same_name("variables")
    header = f"for {each} in ({', '.join(lists)}):"
    if len(together) == 1 or len(lists) < _MANY or len(header) > LINE:
        return together
    return [header, f"    {CORE}.broadcast_variables({each}, root_rank=0)"]


def _sending_new(draft: Draft, block: _Block) -> list[str]:
    """The line that sends those of a step's variables which no step before has trained: of networks that take turns, each when
    it comes first."""
    lists = [value or name for name, value in block.variables.items()]
    lists += [*block.optimizers, *block.copies]
    every = ast.unparse(ast.List([ast.Starred(ast.parse(v, mode="eval").body) for v in lists]))
    return [f"{draft.helper('broadcast_new')}({every})"]


def _whole_loop(draft: Draft, site: ast.AST, loop: Loop) -> Loop:
    """The loop whose turns steps are: around those of a critic, `for _ in range(5):`, that of its generator, too."""
    around = (d.loop for d in draft.facts.feeding.drivers if site in d.steps)
    return next((a for a in around if draft.syntax.inside(loop, a) and draft.can_insert(a)), loop)


def _rule(draft: Draft, block: _Block) -> str:
    return "K6" if block.site in {f.call for f in draft.sites.fits} else "G2"


def _write(draft: Draft, block: _Block) -> None:
    place = block.place
    calls = [f"{name} = {value}" for name, value in block.variables.items() if value is not None]
    all_variables = (*block.variables, *block.optimizers, *block.copies)
    calls += _sending(draft, place.statement, all_variables)
    if keras_session.is_wanted(draft):
        calls = [f"{KERAS}.broadcast_global_variables(0)"]
    comment = "Horovod: from here on every rank holds rank 0's variables."
    what = "Broadcast rank 0's variables after the first step"
    edits = []
    if place.in_graph is not None:
        if draft.sites.method_calls("restore", "restore_or_initialize", "load_weights"):
            draft.refuse("HVD006", block.site, _COUNT_RESTORED)
        condition = f"{place.in_graph} == 1"
        lines = draft.lines_of(f"if {condition}:", *(f"    {c}" for c in calls), comment=comment)
        edits += draft.put_after(place.statement, lines)
    elif place.flag is None:
        edits += draft.put_after(place.statement, draft.lines_of(*calls, comment=comment))
    elif place.chosen:
        edits += draft.put_after(place.statement, _sending_new(draft, block))
    else:
        flag = draft.flag(place.flag_key(draft))
        name = f"{place.flag_prefix}{flag}"
        begins = draft.said(f"if {name}:", comment)
        done = f"{name} = False"
        lines = [begins, *(f"    {c}" for c in calls), *([] if place.choosing else [f"    {done}"])]
        edits += draft.put_after(place.statement, lines, level=1)
        if place.choosing is not None:
            edits.append(draft.after(place.choosing, [done], level=1))
        edits += place.initialise(draft, flag)
    draft.change(_rule(draft, block), block.site, what, _WHY, edits)
    loop = place.loop if place.in_graph is None else next(reversed(place.frame.loops), None)
    if loop is not None:
        loop = _whole_loop(draft, block.site, loop)
        models = [v.removesuffix(".variables") for v in block.variables if v.endswith(".variables")]
        statistics.after_loop(draft, loop, models)


RULE = Rule("G2", "broadcast after the first step", apply, __doc__ or "")
TRAIN_ON_BATCH = Rule("K6", "train_on_batch", apply, __doc__ or "")
