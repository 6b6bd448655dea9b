"""The rate that training starts with, where a schedule makes it."""

from __future__ import annotations

import ast

from horovodize.restrictions.context import Context
from horovodize.summary.syntax import argument

_SCHEDULES = "tensorflow.keras.optimizers.schedules."
_OF_GRAPHS = "tensorflow.compat.v1.train."
_FIRST = {  # what gives the first rate, and where it stands; of boundaries the list of rates
    **dict.fromkeys(
        (
            _SCHEDULES + name
            for name in (
                "ExponentialDecay", "CosineDecay", "CosineDecayRestarts", "PolynomialDecay", "InverseTimeDecay",
            )
        ),
        ("initial_learning_rate", 0),
    ),
    **dict.fromkeys(
        (
            _OF_GRAPHS + name
            for name in (
                "exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay", "cosine_decay",
                "linear_cosine_decay", "cosine_decay_restarts",
            )
        ),
        ("learning_rate", 0),
    ),
    _SCHEDULES + "PiecewiseConstantDecay": ("values", 1),
    _OF_GRAPHS + "piecewise_constant": ("values", 2),
    _OF_GRAPHS + "piecewise_constant_decay": ("values", 2),
}  # fmt: skip


def first_rate(context: Context, rate: ast.expr) -> ast.expr:
    """The rate that training starts with: of a schedule, its first one."""
    made = context.values.calls(rate)
    if len(made) != 1 or (place := _FIRST.get(context.names.of(made[0].func) or "")) is None:
        return rate
    first = argument(made[0], *place)
    if first is None:
        return rate
    lists = [o.node for o in context.values.origins(first) if isinstance(o.node, (ast.List, ast.Tuple))]
    if len(lists) == 1 and lists[0].elts and not isinstance(lists[0].elts[0], ast.Starred):
        return lists[0].elts[0]
    each = [o.node for o in context.values.origins(first) if isinstance(o.node, ast.ListComp)]
    return each[0].elt if len(each) == 1 and not lists else first
