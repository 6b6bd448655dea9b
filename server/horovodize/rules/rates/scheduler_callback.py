"""K5 scheduler callback: a callback that sets the rate of each epoch sets size() times the rate.

What it does   The function of a `LearningRateScheduler` returns `rate * hvd.size()`. A function that is used elsewhere too, or
               that is not in this file, is called by a lambda that scales what it returns. `ReduceLROnPlateau(min_lr=…)` is
               scaled like a rate.
Why            `LearningRateScheduler` sets an absolute rate at the start of each epoch and so undoes C5.
Before         LearningRateScheduler(lambda epoch: 0.1 * 0.5 ** epoch)
After          LearningRateScheduler(lambda epoch: 0.1 * 0.5 ** epoch * hvd.size())
Leaves alone   A function that goes from the rate it is given (`lambda epoch, lr: lr * 0.9`): that one is scaled already; the
               floor beside it (`max(lr * 0.9, 1e-6)`), and what it is compared with, are scaled.
Asks           A function or an object that can't be seen into: it may be either.
Source         Beyond the seed.
"""

from __future__ import annotations

import ast
from functools import partial

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, argument
from horovodize.rules.drafting.decisions import Amount, Scaled
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.rates import own_rate
from horovodize.rules.scaling import strong
from horovodize.source import Edit

_CALLBACK = "tensorflow.keras.callbacks.LearningRateScheduler"
_PLATEAU = "tensorflow.keras.callbacks.ReduceLROnPlateau"
_SETTING = "on_epoch_begin"
_WHAT = "Multiply the rate that the scheduler sets by the number of ranks"
_WHY = "The callback sets an absolute rate at each epoch, which would undo the scaling."

_UNSEEN = "this schedule can't be seen into; where it goes from the rate it is given, it must not be scaled"


def apply(draft: Draft) -> None:
    if not strong.grows(draft, None) or not draft.growth:
        return
    for call in draft.module.calls_which(_sets_rates):
        made = draft.values.made_by(call)
        if _CALLBACK in made:
            schedule = argument(call, "schedule", 0)
            if schedule is not None and not _sets_itself(draft, call):
                _scale(draft, call, schedule)
        elif _PLATEAU in made:
            _scale_floor(draft, call)


def _sets_rates(module: Module, call: ast.Call) -> bool:
    is_known = module.names.of(call.func) is not None or module.values.callee(call) is not None
    return is_known and not module.values.made_by(call).isdisjoint((_CALLBACK, _PLATEAU))


def _sets_itself(draft: Draft, call: ast.Call) -> bool:
    """Whether a class of the script takes the place of what Keras' callback does with each epoch: what it sets, C5 scales."""
    cls = draft.values.callee(call)
    members = [m for c in draft.values.family(cls) for m in c.body] if isinstance(cls, ast.ClassDef) else []
    methods = [m for m in members if isinstance(m, FUNCTIONS)]
    handed_on = any(
        isinstance(n, ast.Attribute) and n.attr == _SETTING and isinstance(n.value, ast.Call)
        for m in methods
        for n in ast.walk(m)
    )
    return any(m.name == _SETTING for m in methods) and not handed_on


def _scale(draft: Draft, call: ast.Call, schedule: ast.expr) -> None:
    functions = [
        o.node for o in draft.values.origins(schedule) if isinstance(o.node, CALLABLES) and not o.path
    ]
    known = [f for f in functions if isinstance(f, CALLABLES)]
    if not known:
        called = _called(draft, schedule)
        going = [
            _goes_from_given(draft, method, value)
            for method in called
            for value in draft.values.returned(method)
        ]
        if called and going and all(going):
            return
        draft.change(
            "K5",
            schedule,
            _WHAT,
            _WHY,
            Edit.around(draft.module.span(schedule), *_calling(draft, schedule)),
            decision=draft.scaled,
            doubt="" if called and not any(going) else _UNSEEN,
        )
        return
    for function in known:
        if not draft.decide(function, Scaled("K5")):
            continue
        for value in draft.values.returned(function):
            if draft.was(value, Amount):
                continue
            if _goes_from_given(draft, function, value):
                own_rate.scale_beside(draft, "K5", value, partial(_goes_from_given, draft, function))
                continue
            draft.decide(value, Scaled("K5"))
            if not isinstance(function, ast.Lambda) and _used_elsewhere(draft, function):
                _call_scaled(draft, schedule, function)
                break
            draft.change("K5", value, _WHAT, _WHY, draft.times(value, draft.growth))


def _called(draft: Draft, schedule: ast.expr) -> list[Function]:
    """The methods by which a schedule that is an object of the program gives its rates: `Steps(0.1, 90)`. None where some of
    what it may be isn't such an object."""
    found: list[Function] = []
    for o in draft.values.origins(schedule):
        cls = draft.values.callee(o.node) if isinstance(o.node, ast.Call) and not o.path else None
        members = (
            [m for c in draft.values.family(cls) for m in c.body] if isinstance(cls, ast.ClassDef) else []
        )
        methods = [m for m in members if isinstance(m, FUNCTIONS) and m.name == "__call__"]
        if not methods:
            return []
        found += methods
    return found


def _calling(draft: Draft, schedule: ast.expr) -> tuple[str, str]:
    """What comes before and after an expression to call it and scale the result. An object that is made there is made once: it
    may count the epochs."""
    if isinstance(schedule, ast.Call):
        return "lambda *given, schedule=", f": schedule(*given) * {draft.growth}"
    if isinstance(schedule, (ast.Name, ast.Attribute)):
        return "lambda *given: ", f"(*given) * {draft.growth}"
    return "lambda *given: (", f")(*given) * {draft.growth}"


def _goes_from_given(draft: Draft, function: Function | ast.Lambda, value: ast.expr) -> bool:
    """Whether a returned rate is made from the rate that Keras passes as the second argument, or the optimizer's own."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if parameters[:1] == ["self"]:
        parameters = parameters[1:]
    if len(parameters) < 2:
        return False
    given = parameters[1]
    return any(isinstance(n, ast.Name) and n.id == given for n in draft.values.depends([value], 400))


def _used_elsewhere(draft: Draft, function: Function) -> bool:
    """Whether a function is called by the program itself (to print or plot the schedule) as well."""
    return bool(draft.values.callers(function))


def _call_scaled(draft: Draft, schedule: ast.expr, function: Function) -> None:
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if draft.syntax.method_class(function) is not None and isinstance(schedule, ast.Attribute):
        parameters = parameters[1:]  # a bound method
    given = ", ".join(parameters[: 2 if len(parameters) > 1 else 1])
    span = draft.module.span(schedule)
    draft.change(
        "K5",
        schedule,
        _WHAT,
        _WHY,
        Edit.around(span, f"lambda {given}: ", f"({given}) * {draft.growth}"),
        decision=draft.scaled,
    )


def _scale_floor(draft: Draft, call: ast.Call) -> None:
    floor = argument(call, "min_lr", 7)
    if floor is None or (isinstance(floor, ast.Constant) and not floor.value):
        return
    if not draft.decide(floor, Scaled("K5")):
        return
    draft.change(
        "K5",
        floor,
        "Multiply the lowest rate by the number of ranks",
        _WHY_FLOOR,
        draft.times(floor, draft.growth),
    )


_WHY_FLOOR = "It is a rate like the one that it limits."
RULE = Rule("K5", "scale the rates that a scheduler callback sets", apply, __doc__ or "")
