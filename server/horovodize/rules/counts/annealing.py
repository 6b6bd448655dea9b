"""What a step is given that is computed from how many steps were taken: the weight of a part of the loss, a temperature, a
share of teacher forcing, the length of the rows that are drawn for it. Part of G5.

`beta = min(1.0, step / 1000)` goes by how much has been seen, as a rate does; so the formula is told the steps of all ranks.
`beta *= 0.999` with each step likewise: a step of a rank changes it as size() steps did (`decays`).
Weights that each step shrinks by hand shrink as much (`shrunk_weights`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument, arguments, position
from horovodize.rules.callbacks.callback_decisions import is_rate
from horovodize.rules.counts import (
    counting_pipelines,
    counting_sequences,
    grown_bounds,
    set_by_callbacks,
    tables_by_step,
)
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.decisions import OfAll
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import (
    counted,
    decays,
    handed_numbers,
    number_settings,
    rate_reads,
    running_means,
    with_each_step,
)
from horovodize.rules.numbers.formulas_of_steps import WHAT, WHY, is_of_a_share, tell, tell_all
from horovodize.rules.numbers.number_settings import Setting
from horovodize.rules.numbers.shares import counts_a_share, feeding
from horovodize.rules.rates import assigned_values, schedule
from horovodize.rules.weights import drifting, steered
from horovodize.rules.weights.target_networks import made_of
from horovodize.rules.wrapping import after_averaging
from horovodize.summary.feeding import Driver

_IN_PART = (
    "what is handed on here counts a rank's steps, and only some of what is computed of it goes by those of all ranks: hand on "
    "the count of all ranks, and let each place go by that"
)
_FAR = 600  # nodes that what layers compute is made of


def apply(draft: Draft) -> None:
    for driver in feeding(draft).drivers:
        if not counted.is_divided(draft, driver):
            continue
        ways = [way for step in driver.steps for way in draft.drive.ways(step)]
        for call in dict.fromkeys(f.node for way in ways for f in way if isinstance(f.node, ast.Call)):
            for given in _given(call):
                if not counts_a_share(draft, given):
                    tell(draft, given)
                    decays.follow(draft, given, rule="G5")
        for call in _drawing_rows(draft, driver):
            for read in [read for given in _given(call) for read in rate_reads.reads(draft, given)]:
                if counted.of(draft, read) is None or is_of_a_share(draft, read):
                    continue
                if draft.facts.drawn_rows.draws(call, [read]):
                    _tell_drawing(draft, read)
        for read in grown_bounds.reads(draft, driver):
            tell_all(draft, read, "G5")
    for value in (*_objectives(draft), *_applied(draft), *_set(draft), *_given_by_layers(draft)):
        tell(draft, value)
    for value in _set_by_sessions(draft):
        if not counts_a_share(draft, value):
            tell(draft, value)
            decays.follow(draft, value, rule="G5")
    for read in _looked_up(draft):
        tell_all(draft, read, "G5")
    for value in _objectives(draft) if draft.divided else ():
        decays.follow(draft, value, rule="G5")
    for made in _schedules(draft) if draft.divided else ():
        schedule.divide_steps(draft, made)
    for made in _decayed(draft) if draft.divided and draft.in_graph else ():
        schedule.divide_steps(draft, made)
    for setting in _going_on(draft) if draft.divided else ():
        decays.follow(draft, setting.value, setting, rule="G5")
    set_by_callbacks.apply(draft, lambda value, stays: tell(draft, value, stays=stays))
    counting_sequences.apply(draft, tell)
    counting_pipelines.ask(draft)


def tell_other_calls(draft: Draft) -> None:
    """Tells a function the steps of all ranks in each call, where it is told them in one; runs when all else is told."""
    for read in list(handed_numbers.other_calls(draft)):
        if not draft.was(read, OfAll):
            tell_all(draft, read, "G5")


def tell_chances(draft: Draft) -> None:
    """Tells the formulas that a draw is compared with; runs before the tests that they stand in are looked at."""
    for driver in feeding(draft).drivers:
        for chance in _chances(draft, driver) if counted.is_divided(draft, driver) else ():
            tell(draft, chance)
            decays.follow(draft, chance, rule="G5")
    for chance in counting_sequences.chances(draft):
        tell(draft, chance)


def _objectives(draft: Draft) -> Iterator[ast.expr]:
    """What gradients are taken of, by a tape or by `minimize`, which may weigh its parts by the steps so far."""
    for gradient in draft.sites.training_gradients:
        target = argument(gradient, "target", 0)
        if target is not None:
            yield target
        if isinstance(target, ast.Name) and draft.facts.dealt.is_own(target):  # made of sliced rows, here
            yield from (b.value for b in draft.module.scopes.reaching(target) if b.value is not None)
    for update in draft.sites.updates:
        loss = argument(update.call, "loss", 0) if update.method == "minimize" else None
        functions = [o.node for o in draft.values.origins(loss)] if loss is not None else []
        computed = [
            value for f in functions if isinstance(f, CALLABLES) for value in draft.values.returned(f)
        ]
        yield from computed or ([loss] if loss is not None else [])
    computing = [*draft.sites.method_calls("minimize", "compute_gradients"), *draft.sites.created_train_ops]
    for op in computing if draft.in_graph else ():
        loss = draft.sites.loss_of(op) or argument(op, "loss", 0)
        if loss is not None:  # of a graph, which the fetched operation may only wait for
            yield loss


def _applied(draft: Draft) -> Iterator[ast.expr]:
    """What optimizers are given for gradients, which the steps so far may have changed: noise that gets less."""
    for update in draft.sites.updates if not draft.in_graph else ():
        if update.method in ("apply_gradients", "apply") and update.gradients:
            gradients = after_averaging.gradients_of(draft, update)
            if gradients is not None:
                yield gradients


def _given_by_layers(draft: Draft) -> Iterator[ast.expr]:
    """What layers and losses of the script's own compute, where Keras calls them with each batch: `x + noise * 0.99 **
    self.step`."""
    if draft.in_graph:
        return
    adding = draft.sites.method_calls("add_loss")
    for cls in draft.syntax.classes:
        for s in cls.body:
            if isinstance(s, FUNCTIONS) and s.name == "call" and draft.facts.occasions.counted_at(s.body[-1]):
                yield from draft.values.returned(s)
                yield from (c.args[0] for c in adding if c.args and draft.syntax.inside(c, s))
    for loss in draft.facts.occasions.compiled_losses:
        yield from draft.values.returned(loss)


def _set(draft: Draft) -> Iterator[ast.expr]:
    """What variables are set to, with each step or every few: `beta.assign(step / 1000)`, `K.set_value(self.weight, …)`,
    `kernel.assign(kernel * (abs(kernel) > least(step)))`."""
    calls = [
        *draft.sites.method_calls("assign", "set_weights"),
        *draft.module.calls_of(number_settings.SET_VALUE),
    ]
    for call in calls if not draft.in_graph else ():
        value = call.args[-1] if call.args else argument(call, "value")
        if value is not None and draft.facts.occasions.counted_at(call) is not None:
            yield value
    for pair in set_together.pairs(draft) if not draft.in_graph else ():
        if with_each_step.is_by_step(draft, pair):
            yield pair.elts[1]


def _set_by_sessions(draft: Draft) -> Iterator[ast.expr]:
    """What sessions set variables to that losses are made with: `sess.run(tf.assign(beta, step / 1000))`."""
    for objective in _objectives(draft) if draft.divided and draft.in_graph else ():
        for value in assigned_values.of(draft, objective):
            yield from (value, *draft.facts.counters.fetched.fed(draft.values.depends([value], _FAR)))


def _looked_up(draft: Draft) -> Iterator[ast.expr]:
    """Where a callback sets a variable with each batch to its number in a table: `K.set_value(w, weights[step])`."""
    for setting in number_settings.of_variables(draft) if not draft.in_graph else ():
        if not _is_by_callback(draft, setting.place) or is_rate(draft, setting.kept):
            continue
        for read in rate_reads.reads(draft, setting.value):
            around = next(
                (a for a in draft.syntax.ancestors(read) if isinstance(a, (ast.Subscript, ast.stmt))), None
            )
            if isinstance(around, ast.Subscript) and draft.syntax.inside(read, around.slice):
                if not tables_by_step.is_table(draft, around.value) and counted.of(draft, read) is not None:
                    yield read


def _going_on(draft: Draft) -> Iterator[Setting]:
    """The variables of one number that losses are made with, where they are set: `heat.assign(heat * 0.999)`."""
    by_hand = {call for step in draft.sites.hand_updates for call in step.calls}
    found = (
        [] if draft.in_graph else [s for s in number_settings.of_variables(draft) if s.place not in by_hand]
    )
    used = {made for n in steered.used_in_losses(draft) for made in _made(draft, n)} if found else set()
    if found:
        given = draft.values.depends([*_given_by_layers(draft)], _FAR)
        used |= {made for n in given for made in _made(draft, n)}
        used = drifting.with_what_sets(draft, used, [(s.kept, [s.value]) for s in found])
    for setting in found:
        by_callback = _is_by_callback(draft, setting.place)  # what `fit` trains with may not be seen
        is_used = by_callback or used & _made(draft, setting.kept)
        if not is_used or not steered.is_one_number(draft, setting.kept):
            continue
        if running_means.counts_what_is_added(draft, setting.kept):
            continue
        if not draft.uniform.of_values.varies(setting.value):
            yield setting


def _is_by_callback(draft: Draft, place: ast.AST) -> bool:
    """Whether a callback comes to a place with each batch of `fit`."""
    hook = draft.facts.hooks.around(place)
    return hook is not None and hook.is_of_batches


def _schedules(draft: Draft) -> Iterator[ast.Call]:
    """The schedules of TensorFlow's that losses ask by a count of steps: `weight = schedule(self.seen)`."""
    for n in steered.used_in_losses(draft):
        if isinstance(n, ast.Call) and n.args and isinstance(n.func, (ast.Name, ast.Attribute)):
            for made in draft.values.calls(n.func):
                known = catalogue.schedule_parameters(draft.names.of(made.func) or "")
                if known is not None and counted.of(draft, n.args[0]) is not None:
                    yield made


def _decayed(draft: Draft) -> Iterator[ast.Call]:
    """The values of a graph that decay by a count of steps, whatever they are for: `tf.train.exponential_decay(0.5, step, …)`
    of a noise, of the decay of an average."""
    for call in draft.syntax.calls:
        step = schedule.step_of(draft, call)
        if step is not None and (counted.of(draft, step) is not None or rate_reads.reads(draft, step)):
            yield call


def _made(draft: Draft, n: ast.AST) -> set[ast.AST]:
    return made_of(draft, n) if isinstance(n, (ast.Name, ast.Attribute)) else set()


def _tell_drawing(draft: Draft, read: ast.expr) -> None:
    """Tells a function that draws rows the steps of all ranks, unless it is told them where it computes with them, or says by
    them where the next row of a memory is written: each rank fills its own, without gaps."""
    uses = list(handed_numbers.uses(draft, read))
    filling = [use for use in uses if _says_where_to_write(draft, use)]
    if filling and all(use in filling or _is_compared(draft, use) for use in uses):
        return
    adapted = {handed_numbers.is_adapted(draft, use) or use in filling for use in uses}
    if adapted <= {False}:
        tell_all(draft, read, "G5")
    elif False in adapted and draft.once("told in part", read):
        draft.ask("G5", read, WHAT, WHY, _IN_PART)


def _says_where_to_write(draft: Draft, use: ast.AST) -> bool:
    """`pool[n] = row`"""
    around = (a for a in draft.syntax.ancestors(use) if isinstance(a, (ast.Subscript, ast.stmt)))
    selecting = next(around, None)
    return (
        isinstance(selecting, ast.Subscript)
        and isinstance(selecting.ctx, ast.Store)
        and draft.syntax.inside(use, selecting.slice)
    )


def _is_compared(draft: Draft, use: ast.AST) -> bool:
    return isinstance(draft.syntax.parent[use], ast.Compare)


def _chances(draft: Draft, driver: Driver) -> Iterator[ast.expr]:
    """What a draw is compared with in each turn of a loop: `if np.random.rand() < eps:`, `forced = random() < share`. How often
    a step is given something else goes by it."""
    draws = draft.uniform.draws
    for test in _run_each_turn(draft, driver):
        if not isinstance(test, ast.Compare) or len(test.ops) > 1:
            continue
        sides = (test.left, test.comparators[0])
        drawn = [isinstance(e, ast.Call) and draws.draws(e) for e in sides]
        yield from (e for e, other in zip(sides, reversed(drawn), strict=True) if other)


def _run_each_turn(draft: Draft, driver: Driver) -> Iterator[ast.AST]:
    """What stands in a loop, in the functions on the way from it to its steps, and in those that either calls."""
    home = draft.syntax.function(driver.loop)
    frames = (f.node for step in driver.steps for way in draft.drive.ways(step) for f in way)
    around = {f for f in map(draft.syntax.function, frames) if f is not None and f is not home}
    inner = [f for f in around if not draft.syntax.inside(driver.loop, f)]
    found = [n for s in (*driver.loop.body, *inner) for n in ast.walk(s)]
    called = {draft.values.callee(n) for n in found if isinstance(n, ast.Call)}
    more = [f for f in called if isinstance(f, FUNCTIONS) and f not in inner]
    yield from dict.fromkeys([*found, *(n for f in sorted(more, key=position) for n in ast.walk(f))])


def _drawing_rows(draft: Draft, driver: Driver) -> Iterator[ast.Call]:
    """The functions that draw the rows of a loop's steps: `x, y = problems(n, length(step))`, longer ones with time."""
    steps = set[ast.AST](driver.steps)
    fed = [e for step in driver.steps for e in arguments(step)]
    made_of = set(draft.values.depends(fed))
    for call in (n for s in driver.loop.body for n in ast.walk(s) if isinstance(n, ast.Call)):
        callee = draft.values.callee(call)
        if call in made_of and isinstance(callee, FUNCTIONS) and not draft.drive.reaches(call, steps):
            yield call


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, of a dict (`feed_dict`) each value."""
    for e in arguments(call):
        yield from e.values if isinstance(e, ast.Dict) else [e]
