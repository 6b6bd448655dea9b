"""Hooks that end an Estimator's training by the metrics of its evaluations, `stop_if_no_decrease_hook`: part of E1.

    stop = tf.estimator.experimental.stop_if_no_decrease_hook(estimator, "loss", 1000)

Such a hook reads what was evaluated from the model's directory, every so many seconds or steps. Only rank 0 has that directory;
each rank would find metrics of its own, at times of its own, and one would end while the others wait for it. So rank 0's hook
decides, and all ranks end after the same step. The steps that it counts are those of a rank.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.python.syntax import argument, has_unpacking
from horovodize.rules.drafting.decisions import Agreed, How
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import change_count, is_none
from horovodize.source import Edit

_WHAT = "End the training on all ranks together"
_WHY = "A rank that ends alone leaves the others waiting for its gradients; rank 0, which has the metrics, decides for all."
_WHAT_STEPS = "Let it wait for as many rows"
_WHY_STEPS = "It compares with steps of a rank, which takes size() times fewer."
_OWN_FUNCTION = (
    "rank 0 alone asks this function: the steps that it sees are those of one rank, size() times fewer"
)
_OWN = "make_early_stopping_hook"
_STEPS = {  # the parameters that count steps, and where they stand; all of them may be passed by name
    "stop_if_no_decrease_hook": (("max_steps_without_decrease", 2), ("min_steps", 4), ("run_every_steps", 6)),
    "stop_if_no_increase_hook": (("max_steps_without_increase", 2), ("min_steps", 4), ("run_every_steps", 6)),
    "stop_if_higher_hook": (("min_steps", 4), ("run_every_steps", 6)),
    "stop_if_lower_hook": (("min_steps", 4), ("run_every_steps", 6)),
    _OWN: (("run_every_steps", 3),),
}


def end_together(draft: Draft, rule: str, element: ast.expr) -> bool:
    """Lets rank 0's hook end the training on all ranks; whether all that makes this hook could be seen and changed."""
    made = [o.node for o in draft.values.origins(element) if isinstance(o.node, ast.Call) and not o.path]
    if len(made) != len(draft.values.origins(element)) or any(not _is_known(draft, call) for call in made):
        return False
    for call in made:
        if draft.once("ended together", call):
            _change(draft, rule, call)
    return True


def _is_known(draft: Draft, call: ast.Call) -> bool:
    role = catalogue.hook_role(draft.names.of(call.func) or "")
    return role == "decides alone" and draft.names.last(call.func) in _STEPS and not has_unpacking(call)


def _change(draft: Draft, rule: str, call: ast.Call) -> None:
    draft.decide(call, Agreed(rule, How.TOGETHER))
    draft.helper("any_rank")
    edits = Edit.around(draft.module.span(call), f"{draft.helper('StopTogether')}(", ")")
    draft.change(rule, call, _WHAT, _WHY, edits)


def divide_steps(draft: Draft, rule: str) -> None:
    """Divides the steps that such hooks wait for."""
    for call in draft.syntax.calls:
        if not _is_known(draft, call) or not draft.was(call, Agreed):
            continue
        name = draft.names.last(call.func)
        for parameter, index in _STEPS[name]:
            count = argument(call, parameter, index)
            if count is None or is_none(count) or (isinstance(count, ast.Constant) and not count.value):
                continue
            change_count(draft, rule, count, _WHAT_STEPS, _WHY_STEPS)
        if name == _OWN:
            asked = argument(call, "should_stop_fn", 1)
            draft.note(rule, asked if asked is not None else call, _OWN_FUNCTION)
