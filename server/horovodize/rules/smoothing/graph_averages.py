"""Variables that an operation of a graph mixes with something else, `slow.assign(0.01 * live + 0.99 * slow)`, or moves a part
of the way to it, `slow.assign_sub(0.01 * (slow - live))`: part of G7.

Where sessions run it with each step, the share that stays is raised to the power of the number of ranks; else it is said.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.counts.shrunk_weights import is_one_factor
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import with_each_step
from horovodize.rules.smoothing.mixtures import is_moving_average, mix, near, nearing, raise_to_power

_GOES_ON = (
    "this goes on from its last value, and each rank takes size() times fewer steps: where it comes with each step, the share "
    "that stays has to be raised to the power of the number of ranks"
)
_PACKAGES = ("tensorflow", "tensorflow.compat.v1")
_ASSIGN = tuple(f"{package}.assign" for package in _PACKAGES)
_FUNCTIONS = tuple(f"{name}{how}" for name in _ASSIGN for how in ("", "_add", "_sub"))
_MOVING_AVERAGE = "tensorflow.python.training.moving_averages.assign_moving_average"


def tell(draft: Draft) -> None:
    """Lets each such assignment go as far for the rows that are seen, or says that it goes on with the steps of a rank."""
    _tell_changes(draft)
    for call in (*draft.sites.method_calls("assign"), *draft.module.calls_of(*_ASSIGN)):
        value = _mixture(draft, call)
        if value is not None and draft.once("mixture", call):
            kept, _ = _set(draft, call)
            mixes = is_moving_average(draft, kept, value, None) and not _is_of_a_batch(draft, value)
            if mixes and _is_by_step(draft, call):
                mix(draft, kept, value)
            else:
                draft.note("G7", value, _GOES_ON)
            continue
        factor = _shrunk_by(draft, call)
        if factor is None:
            continue
        if any(with_each_step.is_by_step(draft, run) for run in runs_of(draft, call)):
            raise_to_power(draft, factor)
        elif draft.once("mixture", call):
            draft.note("G7", factor, _GOES_ON)


def _tell_changes(draft: Draft) -> None:
    """The same as a difference, `slow.assign_sub(0.01 * (slow - live))`, and by TensorFlow's own function."""
    for name, adds in (("assign_add", True), ("assign_sub", False)):
        functions = draft.module.calls_of(*(f"{package}.{name}" for package in _PACKAGES))
        for call in (*draft.sites.method_calls(name), *functions):
            kept, value = _set(draft, call)
            share = nearing(draft, kept, value, adds=adds) if value is not None else None
            if (
                value is None
                or share is None
                or _is_of_a_batch(draft, value)
                or not draft.once("mixture", call)
            ):
                continue
            if _is_by_step(draft, call):
                near(draft, share, value)
            else:
                draft.note("G7", value, _GOES_ON)
    for call in draft.module.calls_of(_MOVING_AVERAGE):
        decay, value = argument(call, "decay", 2), argument(call, "value", 1)
        if decay is not None and value is not None and _is_weight(draft, value) and _is_by_step(draft, call):
            raise_to_power(draft, decay)


def _is_weight(draft: Draft, e: ast.expr) -> bool:
    """Whether something is a variable of all that are trained: `v` of `for v in tf.trainable_variables()`."""
    calls = (n for n in draft.values.depends([e], 100) if isinstance(n, ast.Call))
    return any(draft.names.last(c.func) in ("trainable_variables", "global_variables") for c in calls)


def _is_of_a_batch(draft: Draft, value: ast.expr) -> bool:
    """Whether statistics are kept that batches are normalized by, as batch norm's own layers do."""
    made_of = draft.values.depends([value], 400)
    return any(isinstance(n, ast.Call) and draft.names.last(n.func) == "moments" for n in made_of)


def _is_by_step(draft: Draft, operation: ast.Call) -> bool:
    """Whether sessions run an operation with each divided step, and not otherwise."""
    runs = runs_of(draft, operation)
    return bool(runs) and all(with_each_step.is_by_step(draft, run) for run in runs)


def runs_of(draft: Draft, operation: ast.Call) -> list[ast.Call]:
    """The runs of sessions that come by an operation of the graph."""
    graph = draft.sites.graph
    return [run for run in graph.all_runs if operation in set(graph.operations(graph.fetches(run)))]


def _shrunk_by(draft: Draft, call: ast.Call) -> ast.expr | None:
    """The one number that each of several variables is multiplied by, `v.assign(v * (1 - decay))`: not a mask. (A single one
    may be a rate, which C5 looks at.)"""
    kept, value = _set(draft, call)
    names = [n for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == kept]
    bound = draft.module.scopes.reaching(names[0]) if names else []
    if not bound or any(b.kind != "item" for b in bound):
        return None
    factors = _factors(draft, value) if value is not None else []
    others = [f for f in factors if ast.unparse(f) != kept]
    if len(factors) != 2 or len(others) != 1 or not is_one_factor(draft, others[0]):
        return None
    return others[0] if draft.facts.feeding.kinds.constant(others[0]) != 0 else None


def _set(draft: Draft, call: ast.Call) -> tuple[str, ast.expr | None]:
    """(what is set, to what) of `tf.assign(v, value)`, `v.assign(value)`."""
    given = [*call.args]
    if isinstance(call.func, ast.Attribute) and draft.names.of(call.func) not in _FUNCTIONS:
        given = [call.func.value, *given]
    return (ast.unparse(given[0]), given[1]) if len(given) > 1 else ("", None)


def _mixture(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a variable is set to, where that is a sum of two products, one of them of the variable itself, or the variable and a
    part of a difference."""
    kept, value = _set(draft, call)
    if value is not None and is_moving_average(draft, kept, value, None):
        return value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    parts = [_factors(draft, e) for e in (value.left, value.right)]
    own = [part for part in parts if any(ast.unparse(e) == kept for e in part)]
    return value if all(parts) and len(own) == 1 else None


def _factors(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """Those of `a * b`, `tf.multiply(a, b)`; none of anything else."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
        return [e.left, e.right]
    is_product = isinstance(e, ast.Call) and draft.names.last(e.func) in ("multiply", "mul")
    return list(e.args) if is_product and isinstance(e, ast.Call) else []
