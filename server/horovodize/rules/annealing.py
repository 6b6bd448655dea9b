"""What a step is given that is computed from how many steps were taken: the weight of a part of the loss, a temperature, a
share of teacher forcing. Part of G5.

`beta = min(1.0, step / 1000)` goes by how much has been seen, as a rate does; so the formula is told the steps of all ranks.
`beta *= 0.999` with each step likewise: a step of a rank changes it as size() steps did (`decays`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.plan import Decision
from horovodize.rules import counted, decays, rates_by_step
from horovodize.rules.draft import Draft
from horovodize.rules.shares import counts_a_share, feeding
from horovodize.summary.syntax import argument

_WHAT = "Tell the formula the steps of all ranks together"
_WHY = "Each rank takes size() times fewer steps; what changes with them goes by how much has been seen."
_SET_VALUE = "tensorflow.keras.backend.set_value"
_FORMULA = (ast.Div, ast.Pow)


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
    for value in (*_objectives(draft), *_set(draft)):
        tell(draft, value)


def _objectives(draft: Draft) -> Iterator[ast.expr]:
    """What gradients are taken of, which may weigh its parts by the steps so far."""
    for gradient in draft.sites.training_gradients:
        target = argument(gradient, "target", 0)
        if target is not None:
            yield target


def _set(draft: Draft) -> Iterator[ast.expr]:
    """What variables are set to with each step: `beta.assign(step / 1000)`, `K.set_value(self.weight, …)`."""
    calls = [*draft.sites.method_calls("assign"), *draft.module.calls_of(_SET_VALUE)]
    for call in calls if not draft.in_graph else ():
        value = call.args[-1] if call.args else argument(call, "value")
        if value is not None and counted.is_by_step(draft, call):
            yield value


def tell(draft: Draft, given: ast.expr, rule: str = "G5") -> None:
    """Tells the formulas in a value, which read how many steps were taken, the steps of all ranks."""
    for read in rates_by_step.reads(draft, given):
        if _is_in_formula(draft, read) and counted.of(draft, read) is not None:
            draft.change(rule, read, _WHAT, _WHY, counted.read_as_all(draft, read), decision=Decision.COUNTED)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, of a dict (`feed_dict`) each value."""
    for e in (*call.args, *(k.value for k in call.keywords)):
        yield from e.values if isinstance(e, ast.Dict) else [e]


def _is_in_formula(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is divided, or is a power: `step / 1000`, `0.99 ** step`. What selects rows is no formula, and what is
    divided by a rank's number of steps is right as it is."""
    around = []
    for a in draft.syntax.ancestors(read):
        if isinstance(a, (ast.Subscript, ast.Compare, ast.stmt)):
            break
        around.append(a)
    formulas = [a for a in around if isinstance(a, ast.BinOp) and isinstance(a.op, _FORMULA)]
    by_share = any(a.right in draft.done or counts_a_share(draft, a.right) for a in formulas)
    return bool(formulas) and not by_share
