"""C4 schedule: a learning-rate schedule starts from size() times the rate, and runs through its steps size() times faster.

What it does   The rates of a `LearningRateSchedule` (`initial_learning_rate`, the `values` of `PiecewiseConstantDecay`) and of
               TF1's `*_decay` functions × `hvd.size()`. Steps and boundaries count global steps: where the data is split, an
               epoch has size() times fewer of them, so they are divided, boundaries as whole numbers. A schedule class of the
               user's own: what its `__call__` returns is scaled, and the step that it is given counts those of all ranks. The
               `decay` of Keras' older optimizers, which counts steps, is multiplied.
Why            As for a plain rate (C5). A schedule object can't be multiplied: `schedule * 2` is a TypeError.
Before         rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=1000, decay_rate=0.9)
After          rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1 * hvd.size(), decay_steps=1000 / hvd.size(),
                                                                             decay_rate=0.9)
Leaves alone   `decay_rate`, `alpha`, `power`: factors, not rates. Steps where no loop is divided: every rank takes all.
               Steps that count a rank's share already: `len(dataset)` of a dataset that is divided where it is made.
               A schedule of the user's own that is made with the length of something that is divided already.
Asks           Of rates and steps that come by `**`; of a schedule of the user's own whose steps can't be followed.
Source         Seed 2.3.1. Errata: the seed records `PiecewiseConstantDecay` and does not scale it; of TF1's functions it
               knows `exponential_decay` only; it leaves the steps as they were.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.facts.counting.counter_kinds import GLOBAL_STEPS
from horovodize.facts.files.kept import VARIABLES
from horovodize.plan import Decision
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, argument, arguments, has_unpacking
from horovodize.rules.drafting.decisions import Counted, Divided, OfAll, Scaled, Scheduled
from horovodize.rules.drafting.draft import SIZE, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.numbers import counted, rate_reads
from horovodize.rules.numbers.shares import counts_a_share
from horovodize.rules.rates import measured, mixed_sums, rates_by_step
from horovodize.source import Edit

SCHEDULE = "tensorflow.keras.optimizers.schedules.LearningRateSchedule"
_LIMIT = 200  # nodes that the step of a schedule may be made of
_FEW = 3  # expressions of a list that are scaled one by one, as they are written; of numbers any number is
_WHY = "The schedule starts from a rate for size() times the batch."
_COUNT = "Count the steps of all ranks"
_COUNTED = (
    "this schedule counts steps of one process, and a rank takes size() times fewer: check that it changes as fast for the "
    "rows that are seen"
)
_HIDDEN = "Scale what the schedule is made with"
_UNPACKED = (
    "what comes by `*` or `**` can't be seen: where it holds rates, multiply them by `hvd.size()`, where it holds numbers of "
    "steps, divide them by it"
)
_WHY_STEPS = "Each rank takes size() times fewer steps an epoch; the schedule counts steps."
_WHY_DECAY = "Each rank takes size() times fewer steps an epoch; `decay` counts for each step."


def is_schedule(draft: Draft, call: ast.Call) -> bool:
    """Whether a call makes a schedule, or the decayed rate of a TF1 function."""
    if SCHEDULE in draft.values.made_by(call):
        return True
    name = draft.names.of(call.func)
    return name is not None and catalogue.schedule_parameters(name) is not None


def is_scaled(draft: Draft, call: ast.Call) -> bool:
    """Whether a schedule is scaled where it is made."""
    return draft.was(call, Scheduled)


def scale(draft: Draft, call: ast.Call) -> None:
    """Scales one schedule, once."""
    if not draft.decide(call, Scheduled("C4")):
        return
    callee = draft.values.callee(call)
    if isinstance(callee, ast.ClassDef):
        _scale_own_class(draft, callee)
        return
    name = draft.names.of(call.func) or ""
    parameters = catalogue.schedule_parameters(name)
    if parameters is None:
        draft.refuse(
            "HVD006",
            call,
            f"`{name}` is a schedule whose code can't be seen, so its rate can't be scaled; define it in this file",
        )
        return
    index = _positions(name)
    for rate in (parameters.rate, *parameters.other_rates):
        value = argument(call, rate, index.get(rate))
        if value is not None and not _is_none(value) and draft.growth:
            _scale_values(
                draft,
                value,
                "rate",
                f" * {draft.growth}",
                _WHY,
                parameters.rate_is_list and rate == parameters.rate,
            )
    divide_steps(draft, call)
    counted_in = (parameters.rate, *parameters.other_rates, *parameters.steps, *parameters.step_lists)
    if has_unpacking(call) and any(argument(call, p, index.get(p)) is None for p in counted_in):
        draft.ask("C4", call, _HIDDEN, _WHY, _UNPACKED)


def rates(draft: Draft, call: ast.Call) -> list[ast.expr]:
    """The rates that a schedule is made with, where they can be seen: those of a list one by one."""
    name = draft.names.of(call.func) or ""
    parameters = catalogue.schedule_parameters(name)
    if parameters is None:
        return []
    index = _positions(name)
    given = (argument(call, rate, index.get(rate)) for rate in (parameters.rate, *parameters.other_rates))
    found = [value for value in given if value is not None and not _is_none(value)]
    if not parameters.rate_is_list:
        return found
    listed = [o.node for e in found for o in draft.values.origins(e)]
    return [e for node in listed if isinstance(node, (ast.List, ast.Tuple)) for e in node.elts]


def divide_steps(draft: Draft, call: ast.Call) -> None:
    """Divides the step numbers of one schedule, once: those of a decayed rate that is scaled as a whole, too. Where no loop is
    divided every rank takes all steps, and a schedule goes on counting them."""
    name = draft.names.of(call.func) or ""
    parameters = catalogue.schedule_parameters(name)
    if parameters is None or not draft.divided:
        return
    index = _positions(name)
    if _counts_all_ranks(draft, step_of(draft, call)):
        return
    for steps in (*parameters.steps, *parameters.step_lists):
        value = argument(call, steps, index.get(steps))
        if value is None or _is_none(value):
            continue
        if counts_a_share(draft, value):
            mixed_sums.divide(draft, value, "C4")
        else:
            _scale_values(draft, value, "step", f" // {SIZE}", _WHY_STEPS, steps in parameters.step_lists)


def step_of(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a decayed value of a graph goes by: `tf.train.exponential_decay(0.1, global_step, 1000, 0.9)`."""
    name = draft.names.of(call.func) or ""
    index = _positions(name) if catalogue.schedule_parameters(name) is not None else {}
    return next(
        (e for p in ("global_step", "x") if p in index and (e := argument(call, p, index[p])) is not None),
        None,
    )


def _counts_all_ranks(draft: Draft, step: ast.expr | None) -> bool:
    """Lets what is made of a count of steps, `step - warmup`, count those of all ranks, with which the schedule's own numbers
    go; whether it does."""
    if step is None or counted.of(draft, step) is not None:
        return False
    fed = list(rates_by_step.fed(draft, step))
    for read in (read for e in (step, *fed) for read in rate_reads.reads(draft, e)):
        if counted.of(draft, read) is not None:
            draft.change("C4", read, _COUNT, _WHY_STEPS, counted.read_as_all(draft, read, "C4"))
    told = any(draft.was(n, OfAll) for n in draft.values.depends([step, *fed], _LIMIT))
    return told or bool(fed) or _is_a_variable(draft, step)


def _is_a_variable(draft: Draft, step: ast.expr) -> bool:
    """Whether a schedule goes by a variable of the program that counts no steps: epochs, say. So does the graph's global step
    where no train op is given it, and only the program sets it. Not one that is set to a count of steps."""
    made = draft.values.calls(step)
    counts = draft.facts.counters.graph_counts
    given = [value for c in made for _, _, value in counts.settings(c)]
    kinds = (*VARIABLES, *GLOBAL_STEPS) if given and not counts.global_steps else VARIABLES
    given += [e for value in given for e in rates_by_step.fed(draft, value)]
    return (
        bool(made)
        and all(draft.names.of(c.func) in kinds for c in made)
        and not any(counted.of(draft, e) is not None for e in given)
    )


def scale_decay(draft: Draft, call: ast.Call, name: str) -> None:
    """Keras' older optimizers take `decay`: a step's rate is `rate / (1 + decay * steps)`. Of size() times fewer steps each
    has to count size() times. The add-ons' `RectifiedAdam` goes down to a `min_lr`."""
    lowest = argument(call, "min_lr") if name == _RECTIFIED else None
    if lowest is not None and not _is_none(lowest) and draft.growth and draft.decide(lowest, Scaled("C4")):
        draft.change("C4", lowest, _LOWEST, _WHY_LOWEST, draft.times(lowest, draft.growth))
    decay = argument(call, "decay") if name.startswith("tensorflow.keras.") else None
    if decay is None or not draft.divided:
        return
    if _is_none(decay) or counts_a_share(draft, decay):
        return
    if draft.decide(decay, Counted("C4")):
        draft.change("C4", decay, "Let the rate decay as before", _WHY_DECAY, draft.times(decay))


_RECTIFIED = "tensorflow_addons.optimizers.RectifiedAdam"
_LOWEST = "Multiply the lowest rate by the number of ranks"
_WHY_LOWEST = "It is a rate like the one that goes down to it."


def _positions(name: str) -> dict[str, int]:
    """Where the parameters of a schedule stand among its positional arguments."""
    known, function = catalogue.cls(name), catalogue.function(name)
    order = known.parameters if known else function.parameters if function else ()
    return {p: i for i, p in enumerate(order)}


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, 0)


def _scale_values(draft: Draft, value: ast.expr, item: str, factor: str, why: str, is_list: bool) -> None:
    if not draft.decide(value, Scaled("C4") if item == "rate" else Divided("C4")):
        return
    operator = factor.split(maxsplit=1)[0]
    what = (
        "Multiply the schedule's rate by the number of ranks"
        if item == "rate"
        else "Divide the schedule's steps"
    )
    if not is_list:
        # A part of a step is a number of steps, too: rounded, ranks would decay sooner than one process.
        edits = draft.times(value, *(SIZE, "/") if item == "step" else (draft.growth, operator))
    elif isinstance(value, (ast.List, ast.Tuple)) and _are_few(value):
        by = SIZE if item == "step" else draft.growth
        edits = tuple(edit for e in value.elts for edit in draft.times(e, by, operator))
    else:
        name = draft.fresh(item)
        edits = draft.decided(
            Decision.DIVIDED if item == "step" else draft.scaled,
            Edit.around(draft.module.span(value), f"[{name}{factor} for {name} in ", "]"),
        )
    draft.change("C4", value, what, why, edits)


def _are_few(value: ast.List | ast.Tuple) -> bool:
    if any(isinstance(e, ast.Starred) for e in value.elts):
        return False
    return len(value.elts) <= _FEW or all(_is_number(e) for e in value.elts)


def _is_number(e: ast.expr) -> bool:
    if isinstance(e, ast.UnaryOp):
        return _is_number(e.operand)
    return isinstance(e, ast.Constant) and isinstance(e.value, (int, float))


def _scale_own_class(draft: Draft, cls: ast.ClassDef) -> None:
    """A schedule of the user's own: the rate is what `__call__` returns."""
    if not draft.decide(cls, Scaled("C4")):
        return
    for member in draft.values.family(cls):
        for statement in member.body:
            if isinstance(statement, FUNCTIONS) and statement.name == "__call__":
                scale_function(draft, statement, "C4")
                if draft.divided:
                    _count_all_steps(draft, statement, _is_given_a_share(draft, cls))
                return
    draft.refuse(
        "HVD006",
        cls,
        f"`{cls.name}` is a schedule whose `__call__` is not in this module, so its rate can't be scaled; define it here",
    )


def _count_all_steps(draft: Draft, call: Function, by_share: bool) -> None:
    """A schedule of the user's own is told the steps of all ranks together, `step = step * hvd.size()`, and so are the lengths
    of a rank's data, unless it goes by their quotient alone. `by_share`: that it is made with such a length."""
    first, parameters = draft.start_of_body(call), [*call.args.posonlyargs, *call.args.args]
    if len(parameters) < 2:
        draft.ask("C4", call, _COUNT, _WHY_STEPS, _COUNTED)
        return
    step = parameters[1].arg
    reads = [
        n for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == step and isinstance(n.ctx, ast.Load)
    ]
    own = [n for n in reads if all(b.kind == "parameter" for b in draft.module.scopes.reaching(n))]
    if all(measured.is_measured(draft, read) for read in own):
        return
    if any(measured.asks_a_rank(draft, draft.syntax.parent[n]) for n in reads):
        draft.ask("C4", call, _COUNT, _WHY_STEPS, _COUNTED)
        return
    made = draft.values.returned(call)
    told = [measured.tell_lengths(draft, e, _COUNT, _WHY_STEPS, "C4", known=reads) for e in made]
    if by_share and not any(told):
        draft.ask("C4", call, _COUNT, _WHY_STEPS, _COUNTED)
        return
    either = (
        n for n in reads if n not in own for b in draft.module.scopes.reaching(n) if b.kind == "parameter"
    )
    if not draft.can_insert(first) and any(True for _ in either):
        draft.ask("C4", call, _COUNT, _WHY_STEPS, _COUNTED)
        return
    if draft.can_insert(first):
        line = draft.before(first, [f"{step} = {step} * {SIZE}"])
        draft.change("C4", call, _COUNT, _WHY_STEPS, [line])
    for read in reads:
        if (
            draft.can_insert(first) or read not in own
        ):  # `step = tf.cast(step, tf.float32)` is told where it is set
            draft.decide(read, OfAll("C4"))
        else:  # a body on the line of its `def`, or several statements on its first line
            draft.change("C4", read, _COUNT, _WHY_STEPS, counted.read_as_all(draft, read, "C4"))


def _is_given_a_share(draft: Draft, cls: ast.ClassDef) -> bool:
    """Whether a schedule of the user's own is made with a number of steps that is a rank's: `Warmup(0.1, len(dataset))`."""
    return any(
        counts_a_share(draft, value)
        for call in draft.syntax.calls
        if draft.values.callee(call) is cls
        for value in arguments(call)
    )


def scale_function(draft: Draft, function: ast.AST, rule: str) -> None:
    """Scales what a function returns as a rate."""
    if not isinstance(function, CALLABLES) or not draft.decide(function, Scaled(rule)):
        return
    for value in draft.values.returned(function):
        if draft.growth and draft.decide(value, Scaled(rule)):
            if rule == "C5":
                rates_by_step.follow(draft, value, value)
            draft.change(
                rule,
                value,
                "Multiply the rate that is returned by the number of ranks",
                _WHY,
                draft.times(value, draft.growth),
            )


RULE = Rule("C4", "scale learning-rate schedules", None, __doc__ or "")
