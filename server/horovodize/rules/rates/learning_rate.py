"""C5 rate: the learning rate of every optimizer that trains is multiplied by the number of ranks.

What it does   `rate` becomes `rate * hvd.size()`: the keyword, the first positional argument, or the old `lr=`. Without a
               rate the class's own default is written out and scaled. Rates that are set later
               (`optimizer.learning_rate = 0.01`, `K.set_value(model.optimizer.lr, 0.01)`) are scaled where they are set.
               A rate that goes by a count of steps is told those of all ranks (`0.99 ** (step * hvd.size())`); one that goes
               on from its last value with each step changes as size() steps did (`rate *= 0.99 ** hvd.size()`).
               An optimizer's rate that is written to a file from which a later run reads its own is divided there: the file
               holds the rate of one process.
               Where variables are updated by hand (`w.assign_sub(rate * gradient)`), the rate is scaled there.
Why            A step averages the gradients of size() batches, so the batch is size() times larger. A larger rate from step
               0 on can hurt: `hvd.callbacks.LearningRateWarmupCallback` starts small.
Before         opt = tf.keras.optimizers.SGD(0.1)
After          opt = tf.keras.optimizers.SGD(0.1 * hvd.size())
Leaves alone   A schedule object (C4 scales it; multiplying it is a TypeError). A rate computed from the optimizer's own
               rate: that one is scaled already; the floor beside it, and what it is compared with, are scaled.
               The rate of steps that see the same rows on all ranks, or that each rank takes of all of the data.
Asks           Steps of which it can't be seen whether they see all of the data each time.
               A rate that may be a schedule or a number and can't be followed. One that changes with each step in a way that
               can't be followed, or is made of its last value otherwise (`rate = rate * 0.9 + 1e-6`).
Source         Seed 2.3.1, strict form of assignment, learning rate scaling. Errata: without a rate the seed has no answer
               (39 of 462 real sites); `a + b` needs parentheses; one `tf.Variable` that feeds two optimizers is scaled
               once, where it is made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.files.kept import first_value
from horovodize.python.syntax import argument, arguments
from horovodize.python.values import Origin
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.decisions import Amount, Scaled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import RATES
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.loops import rows_by_global_step
from horovodize.rules.numbers.shares import counts_a_share
from horovodize.rules.rates import (
    first_batches,
    handed_rates,
    own_optimizers,
    own_rate,
    picked_by_turn,
    rates_alike,
    rates_by_step,
    restored_rates,
    same_rows,
    schedule,
    unpacked_rates,
    unseen_rates,
    unseen_schedules,
    written_rates,
)
from horovodize.rules.rates.rate_settings import (
    is_rate,
    is_relative,
    is_variable,
    possible_settings,
    set_rate,
)
from horovodize.rules.resuming import restored_iterations, resume
from horovodize.rules.scaling import steps_on_all, strong
from horovodize.rules.wrapping import keras_optimizer
from horovodize.rules.wrapping.copied_optimizers import copied
from horovodize.rules.wrapping.optimizers import Trained, rate_argument, trained_optimizers
from horovodize.source import Edit

_WHY = "A step averages size() batches: the batch is size() times larger, and so is the rate."
_WHY_TOLD = "Each rank takes size() times fewer steps; a schedule goes by how much has been seen."
_ELSEWHERE = "this optimizer is made in another file; its learning rate has to be multiplied by the number of ranks there"
_UNSEEN = (
    "where this optimizer is made can't be seen: check that its rate is not scaled already and is no schedule"
)
_UNSCALED = (
    "the learning rate of the optimizer that this gives can't be seen, so it is not scaled; "
    "multiply it by the number of ranks"
)


def apply(draft: Draft) -> None:
    optimizers = trained_optimizers(draft)
    for trained in sorted(optimizers, key=lambda t: not _has_schedule(draft, t)):
        _scale_optimizer(draft, trained)
        if trained.call is not None and strong.grows(draft, trained.used_at):
            schedule.scale_decay(draft, trained.call, trained.class_name or "")
    resume.ask_schedules(draft)
    _scale_later_settings(draft)
    set_together.ask_of_unpaired(draft, is_rate)
    rates_alike.keep(draft, _rates(draft, optimizers))
    written_rates.unscale(draft, _rates(draft, optimizers), is_rate)
    if strong.grows(draft, None):
        own_rate.scale_comparisons(draft, is_rate)
    for step in draft.sites.hand_updates:
        if draft.sites.is_distributable(step) and strong.scaling(draft, step.site) is strong.Scaling.WEAK:
            for change in step.changes or ():
                rate = _rate_by_hand(draft, change)
                _times(draft, rate, by_hand=rate is change)
    picked_by_turn.ask(draft)
    unseen_rates.ask(draft, optimizers)
    own_optimizers.ask(draft)
    strong.ask_of_unseen(draft, "C5")
    rows_by_global_step.apply(draft)
    same_rows.ask(draft, "C5")
    first_batches.ask(draft, "C5")
    strong.ask_of_both(draft, "C5")
    steps_on_all.ask(draft, "C5")
    restored_iterations.apply(draft)
    restored_iterations.tell_of_graphs(draft)
    restored_rates.agree_before_fits(draft)
    restored_rates.tell(draft, (s for n in possible_settings(draft) if (s := set_rate(draft, n)) is not None))


def _rates(draft: Draft, optimizers: list[Trained]) -> Iterator[ast.expr]:
    """What optimizers are made with, what their rates are set to later, and what sessions feed them."""
    for trained in optimizers:
        rate = rate_argument(trained.call, trained.class_name) if trained.call is not None else None
        if rate is not None and not _has_schedule(draft, trained):
            yield from rates_by_step.fed(draft, rate, directly=True) if draft.in_graph else [rate]
    for node in possible_settings(draft) if not draft.in_graph else ():
        setting = set_rate(draft, node)
        if setting is not None:
            yield setting.value


def _rate_by_hand(draft: Draft, change: ast.expr) -> ast.expr:
    """`rate` of `w.assign_sub(rate * gradient)`; where none is to be seen, all that is taken off."""
    if isinstance(change, ast.BinOp) and isinstance(change.op, ast.Mult):
        return change.right if draft.sites.flow.gradient_calls(change.left) else change.left
    return change


def _has_schedule(draft: Draft, trained: Trained) -> bool:
    """Whether an optimizer's rate is a schedule itself: those are scaled first, as others may be computed from them."""
    rate = rate_argument(trained.call, trained.class_name) if trained.call is not None else None
    return rate is not None and any(
        o.call is not None and schedule.is_schedule(draft, o.call) for o in draft.values.origins(rate)
    )


def _applies_what_is_compiled(draft: Draft) -> bool:
    """Whether steps apply gradients by the optimizer that a model was compiled with: `self.optimizer.apply_gradients(…)`."""
    used = (u.optimizer for u in draft.sites.updates)
    return any(
        isinstance(o, ast.Attribute) and o.attr == "optimizer" and not draft.values.attribute_bindings(o)
        for o in used
    )


def _scale_optimizer(draft: Draft, trained: Trained) -> None:
    call = trained.call
    if not strong.grows(draft, trained.used_at):
        return
    if isinstance(trained.origin, ast.arg) and draft.once("rate elsewhere", trained.origin):
        draft.note("C5", trained.used_at, _ELSEWHERE)
    if call is None and trained.sink == "update":
        return _scale_unseen(draft, trained)
    if trained.string is not None and not draft.sites.fits and _applies_what_is_compiled(draft):
        return keras_optimizer.write_out(draft, trained, in_wrapper=False)
    if call is None or not draft.decide(call, Scaled("C5")):
        return
    if schedule.is_schedule(draft, call):
        return schedule.scale(draft, call)  # made with one, by one call
    name, doubt = trained.class_name, strong.doubt(draft, trained.used_at)
    rate = rate_argument(call, name)
    if rate is None and copied(draft, trained) is not None:
        return
    if rate is None and (unpacked := unpacked_rates.of(draft, call)):
        for given in unpacked:
            scale_rate(draft, given, doubt=doubt)
        return
    if rate is None:
        default = draft.default_rate(name) if name else None
        if any(k.arg is None for k in call.keywords) or default is None:
            return _scale_made(draft, trained)
        if not draft.growth:
            return
        keyword = f"learning_rate={default} * {draft.growth}"
        if keras_session.is_wanted(draft) and not call.args:
            keyword = f"{default} * {draft.growth}"  # Keras 2.2 calls it `lr`, Keras 2.3 `learning_rate`
        what = f"Write out the default rate {default} and multiply it by the number of ranks"
        added = [draft.add_argument(call, keyword, first=not call.args)]
        shown = f"learning_rate={default}"
        draft.change("C5", call, what, _WHY, added, doubt=doubt, decision=draft.scaled, shown=shown)
        return
    scale_rate(draft, rate, doubt=doubt)


def scale_rate(draft: Draft, rate: ast.expr, seen: frozenset[ast.AST] = frozenset(), doubt: str = "") -> None:
    """Scales the rate that an expression stands for: a number where it is used, a schedule or a variable where it is made."""
    if rate in seen or not draft.decide(rate, Scaled("C5")):
        return
    if isinstance(rate, ast.IfExp):
        scale_rate(draft, rate.body, seen | {rate}, doubt)
        scale_rate(draft, rate.orelse, seen | {rate}, doubt)
        return
    if isinstance(rate, ast.UnaryOp) and isinstance(rate.op, ast.USub):
        return scale_rate(draft, rate.operand, seen | {rate}, doubt)
    if isinstance(rate, ast.Lambda):
        _times(draft, rate.body)
        return
    origins = draft.values.origins(rate)
    made = [
        o
        for o in origins
        if o.call is not None
        and (schedule.is_schedule(draft, o.call) or is_variable(draft, o.call))
        # in a graph, `variable * size()` is computed in every step, whatever is assigned meanwhile
        and not (draft.in_graph and not schedule.is_schedule(draft, o.call))
    ]
    if not made and not draft.in_graph and unseen_schedules.is_rate(draft, rate):
        _wrap_schedule(draft, rate, [o.call for o in origins if o.call is not None])
        return
    if not made:
        functions = [
            o.node for o in origins if isinstance(o.node, (ast.FunctionDef, ast.Lambda)) and not o.path
        ]
        if functions and not isinstance(rate, ast.Call):
            schedule.scale_function(draft, functions[0], "C5")
            return
        if not is_relative(draft, rate):
            _times(draft, rate, doubt=doubt)
        return
    if draft.in_graph and _are_made_of_others(draft, made, origins):
        _times(draft, rate, doubt=doubt)
        return
    for origin in origins:
        call = origin.call
        if call is not None and schedule.is_schedule(draft, call):
            shared = _shared_rates(draft, call, origins)
            for node in shared if draft.once("schedule of a scaled rate", call) else ():
                scale_rate(draft, node, seen | {rate})
            if shared:
                schedule.divide_steps(draft, call)
            else:
                schedule.scale(draft, call)
        elif call is not None and is_variable(draft, call):
            value = first_value(call) or argument(call, "value", 0)
            if value is not None and draft.decide(value, Scaled("C5")):
                _times(draft, value)
        elif isinstance(origin.node, ast.expr) and not origin.path and origin.node is not rate:
            scale_rate(draft, origin.node, seen | {rate})
        else:
            draft.refuse(
                "HVD006", rate, "this learning rate may be a number or a schedule; make it one of them"
            )


def _are_made_of_others(draft: Draft, made: list[Origin], origins: list[Origin]) -> bool:
    """Whether a rate is a schedule in one case and made of that schedule in another, as where a warm-up comes before it:
    `if warmup: rate = tf.cond(step < warmup, lambda: rising, lambda: rate)`. Scaled where it is made, it would be twice."""
    schedules = {o.call for o in made}
    nodes = [o.node for o in origins if isinstance(o.node, ast.expr)]
    return any(n in schedules and n is not e for e in nodes for n in draft.values.depends([e], 400))


def _shared_rates(draft: Draft, call: ast.Call, origins: list[Origin]) -> list[ast.expr]:
    """What a schedule's rates come from, where one of them is the rate itself in other cases: that is scaled, once, and not
    where the schedule is made: `return rate if steps is None else ExponentialDecay(rate, steps, 0.9)`. What is computed from
    it, `end_learning_rate=rate / 100`, is scaled with it."""
    numbers = {o.node for o in origins if o.call is None}
    given = schedule.rates(draft, call)
    if not any(_is_made_of(draft, e, numbers) for e in given):
        return []
    sources = [o.node for e in given for o in draft.values.origins(e) if isinstance(o.node, ast.expr)]
    return [s for s in sources if s in numbers or not _is_made_of(draft, s, numbers)]


def _is_made_of(draft: Draft, e: ast.expr, numbers: set[ast.AST]) -> bool:
    return any(n in numbers for n in draft.values.depends([e], 400))


def _wrap_schedule(draft: Draft, rate: ast.expr, made: list[ast.Call]) -> None:
    """A schedule of another module's class can't be scaled where it is made: another schedule goes around it, and tells it the
    steps of all ranks, unless it is made with a rank's number of them."""
    by_share = any(counts_a_share(draft, value) for call in made for value in arguments(call))
    told = draft.divided and not by_share
    if not draft.growth and not told:
        return
    compiled = any(rate in ast.walk(o) for c in draft.sites.compiles for o in c.optimizers)
    obstacle = unseen_schedules.why_not(draft) if compiled else ""
    if obstacle:
        draft.refuse("HVD006", rate, f"{obstacle}; define the class here, with `get_config`")
        return
    name = draft.helper("AllRanksSchedule" if told else "ScaledSchedule")
    what = "Scale what the schedule gives by the number of ranks"
    what, why = (
        (what, _WHY) if draft.growth else ("Tell the schedule the steps of all ranks together", _WHY_TOLD)
    )
    draft.change("C5", rate, what, why, Edit.around(draft.module.span(rate), f"{name}(", ")"))


def _times(draft: Draft, rate: ast.expr, by_hand: bool = False, doubt: str = "") -> None:
    if not by_hand:
        rates_by_step.follow(draft, rate, rate)
    if (
        draft.in_graph
    ):  # a decayed rate inside an expression: `tf.maximum(tf.train.exponential_decay(…), 1e-5)`
        inner = [
            n
            for n in draft.values.depends([rate], 400)
            if isinstance(n, ast.Call) and schedule.is_schedule(draft, n)
        ]
        if any(schedule.is_scaled(draft, n) for n in inner):
            return  # another optimizer uses the decayed rate itself, which is scaled where it is made
        for node in inner:
            schedule.divide_steps(draft, node)
        rates_by_step.follow_fed(draft, rate)
    what = "Multiply the learning rate by the number of ranks"
    if draft.growth:
        draft.change("C5", rate, what, _WHY, draft.times(rate, draft.growth), doubt=doubt)


def _scale_unseen(draft: Draft, trained: Trained) -> None:
    """An optimizer that something makes which can't be seen into: the rate that it is given by name is scaled there (`check`
    asks whether that is all), else the optimizer's, once it is made."""
    call = trained.origin
    if (
        isinstance(call, ast.Attribute)
        and _is_compiled_elsewhere(draft, call)
        and draft.once("rate elsewhere", call)
    ):
        draft.ask(
            "C5", trained.used_at, "Multiply the learning rate by the number of ranks", _WHY, _ELSEWHERE
        )
    if not isinstance(call, ast.Call) or draft.values.callee(call) is not None:
        return
    if copied(draft, trained) is not None:  # with the rate of one that is scaled
        for code in ("HVD103", "HVD105", "HVD107"):
            draft.answer(code, call)
        return
    place = _made_for(draft, trained.used_at) or call
    if not draft.decide(place, Scaled("C5")):
        return
    rate = argument(call, "learning_rate") or argument(call, "lr")
    if rate is not None:
        scale_rate(draft, rate)
    elif _scale_once_made(draft, place, _UNSEEN):
        for code in ("HVD103", "HVD105", "HVD107"):
            draft.answer(code, call)
    else:
        draft.ask("C5", trained.used_at, "Multiply the learning rate by the number of ranks", _WHY, _UNSCALED)


def _is_compiled_elsewhere(draft: Draft, e: ast.Attribute) -> bool:
    """Whether `self.optimizer` is that of a model which another file compiles, or which it is given to."""
    return e.attr == "optimizer" and not draft.sites.compiles


def _made_for(draft: Draft, used_at: ast.expr) -> ast.Call | None:
    """The call whose result a name means, where it is only one: `build("sgd")` of `opt = build("sgd")`."""
    bindings = draft.module.scopes.reaching(used_at) if isinstance(used_at, ast.Name) else []
    made = [b.value for b in bindings if b.kind == "assign" and not b.path and isinstance(b.value, ast.Call)]
    return made[0] if len(made) == len(bindings) == 1 else None


def _scale_made(draft: Draft, trained: Trained) -> None:
    """An optimizer whose rate can't be seen (`**options`, a class of another package): its rate is scaled once it is made."""
    assert trained.call is not None
    if not draft.growth:
        return
    doubt = "the rate can't be seen here; this is wrong where it is a schedule"
    if not _scale_once_made(draft, trained.call, doubt):
        draft.refuse(
            "HVD006",
            trained.call,
            "the learning rate of this optimizer can't be seen; give it as `learning_rate=…`",
        )


def _scale_once_made(draft: Draft, call: ast.Call, doubt: str) -> bool:
    """Scales the rate of an optimizer after the statement that makes it; False where there is no place for that."""
    statement = draft.syntax.statement(call)
    if not (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], (ast.Name, ast.Attribute))
        and draft.can_insert(statement)
    ):
        return False
    name = draft.module.text(statement.targets[0])
    line = f"{name}.learning_rate = {name}.learning_rate * {draft.growth}"
    what = "Multiply the learning rate by the number of ranks once the optimizer is made"
    draft.change("C5", call, what, _WHY, [draft.after(statement, [line], level=-1)], doubt=doubt)
    return True


# ---------------------------------------------------------------------- rates that are set later


def _scale_later_settings(draft: Draft) -> None:
    for node in sorted(possible_settings(draft), key=lambda n: handed_rates.own_setters_first(draft, n)):
        setting = set_rate(draft, node)
        if setting is None or draft.was(setting.value, Amount) or not _grows(draft, setting.kept):
            continue
        value = setting.value
        rates_by_step.follow(draft, node, value, setting)
        handed = handed_rates.to_scale(draft, value, is_relative)
        if handed is not None:
            for rate in handed:
                if draft.decide(rate, Scaled("C5")):
                    _times(draft, rate)
            continue
        if setting.is_scaled:
            if draft.growth and not isinstance(node, ast.AugAssign):
                own_rate.scale_beside(draft, "C5", value, lambda e: is_relative(draft, e))
            continue
        if any(
            o.call is not None and schedule.is_schedule(draft, o.call) for o in draft.values.origins(value)
        ):
            scale_rate(draft, value)
        elif draft.decide(value, Scaled("C5")):
            _times(draft, value)


def _grows(draft: Draft, kept: ast.expr) -> bool:
    """Whether a rate that is set grows: by the steps that are taken with its optimizer, where those are seen."""
    holder = kept.value if isinstance(kept, ast.Attribute) and kept.attr in RATES else None
    return strong.grows(draft, holder if holder is not None and strong.sites_of(draft, holder) else None)


def gives_rate(draft: Draft, call: ast.Call) -> bool:
    """Whether what a call of `next` gives is a rate that an optimizer gets, or that a session is fed for one."""
    settings = (set_rate(draft, node) for node in possible_settings(draft))
    given = [s.value for s in settings if s is not None]
    given += _rates(draft, trained_optimizers(draft)) if draft.in_graph else []
    return any(call in rates_by_step.drawn(draft, value) for value in given)


RULE = Rule("C5", "multiply the learning rate by the number of ranks", apply, __doc__ or "")
__all__ = ["RULE", "gives_rate", "scale_rate"]
