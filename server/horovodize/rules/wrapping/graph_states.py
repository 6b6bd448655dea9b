"""Variables that a graph moves on by the rows of a step, without an optimizer: part of S2.

`k.assign(k + 0.001 * balance)` of a boundary equilibrium GAN, `tf.scatter_sub(centers, labels, difference)` of a center loss,
`w.assign_add(positive - negative)` of a contrastive divergence: each rank moves its own on by its own rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from horovodize.facts.feeds.turn_calls import GRAPH_SOURCES
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import HVD, Draft
from horovodize.rules.numbers import with_each_step
from horovodize.rules.smoothing import moved_on
from horovodize.rules.smoothing.graph_averages import runs_of
from horovodize.rules.weights import steered
from horovodize.rules.wrapping.graph_gradients import is_gradient
from horovodize.source import Edit

_METHODS = ("assign", "assign_add", "assign_sub")
_SCATTERING = (
    "scatter_add",
    "scatter_sub",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_update",
    "scatter_nd_update",
)
_SHAPING = {"clip_by_value", "maximum", "minimum", "identity", "cast", "stop_gradient"}
_ADDING = {"add", "subtract", "add_n"}
_BY_HAND = (
    "this trains a variable without an optimizer, by each rank's own rows: the ranks would train different models; use one of "
    "`tf.train`"
)
_DRIFTS = (
    "each rank moves `{}` on by its own rows, and the loss is made with it: it becomes another number on each rank, and moves "
    "size() times less for the same rows; average what is added with `hvd.allreduce`, and multiply it by `hvd.size()`"
)


def apply(draft: Draft) -> None:
    """Refuses what is trained so; keeps what else the loss is made with alike, or asks about it."""
    moved = list(_moved(draft))
    losses = set(draft.values.depends(_losses(draft), 6000)) if moved else set()
    for call, variable, value in moved:
        made = draft.values.calls(variable)
        if not made or not losses.intersection(made) or not _is_of_rows(draft, value):
            continue
        if is_gradient(draft, value) and not any(_is_trained(draft, c) for c in made):
            continue
        if any(_is_trained(draft, c) for c in made):
            draft.refuse("HVD006", call, _BY_HAND)
        elif draft.once("moved by rows", call):
            _keep_alike(draft, call, variable, value)


def _keep_alike(draft: Draft, call: ast.Call, variable: ast.expr, value: ast.expr) -> None:
    """Averages one number where it is set, if all ranks come to that; asks about more."""
    runs = runs_of(draft, call)
    if _is_one_number(draft, call, variable) and runs and all(map(draft.uniform.reached_alike, runs)):
        draft.decide(value, Agreed("S2"))
        edits = Edit.around(draft.module.span(value), f"{HVD}.allreduce(", ")")
        draft.change("S2", call, steered.WHAT, steered.WHY, edits, steered.AVERAGED)
    else:
        draft.ask("S2", call, steered.WHAT, steered.WHY, _DRIFTS.format(draft.module.text(variable)))


def go_as_far(draft: Draft) -> None:
    """Lets the numbers that are averaged so move as far with each step as with size() steps of one process: part of G7."""
    for call, variable, value in _moved(draft):
        if draft.was(value, Agreed) and any(
            with_each_step.is_by_step(draft, run) for run in runs_of(draft, call)
        ):
            adds = None if draft.names.last(call.func) == "assign" else True
            moved_on.go_as_far(draft, draft.module.text(variable), value, adds, of_rows=True)


def _is_one_number(draft: Draft, call: ast.Call, variable: ast.expr) -> bool:
    return steered.is_one_number(draft, variable) and draft.names.last(call.func) not in _SCATTERING


def _moved(draft: Draft) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """(the operation, the variable that it moves on, what by)."""
    for call in draft.sites.method_calls(*_METHODS, *_SCATTERING):
        assert isinstance(call.func, ast.Attribute)
        function = draft.names.of(call.func) is not None
        operands = [*call.args] if function else [call.func.value, *call.args]
        if len(operands) < 2:
            continue
        name, variable, value = call.func.attr, operands[0], operands[1]
        if name in _SCATTERING:
            yield call, variable, operands[-1]
        elif name != "assign":
            yield call, variable, value
        elif _goes_on(draft, variable, value):
            yield call, variable, value


def _goes_on(draft: Draft, variable: ast.expr, value: ast.expr) -> bool:
    """Whether a variable is set to itself and something more: not a share of it, and not what a network makes of it."""
    own = set(draft.values.calls(variable))
    is_own = partial(_is_the_variable, draft, own)
    for origin in draft.values.origins(value):
        node = origin.node
        while isinstance(node, ast.Call) and draft.names.last(node.func) in _SHAPING and node.args:
            made = draft.values.origins(node.args[0])
            node = made[0].node if len(made) == 1 else node.args[0]
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and draft.names.last(node.func) in _ADDING:
            parts = [*node.args]
        else:
            continue
        if any(is_own(part) for part in parts):
            return True
    return False


def _is_the_variable(draft: Draft, own: set[ast.Call], e: ast.expr) -> bool:
    return bool(own & set(draft.values.calls(e)))


def _is_of_rows(draft: Draft, value: ast.expr) -> bool:
    """Whether a value is computed from the rows of a step; statistics that batches are normalized by are left to their rule."""
    calls = [n for n in draft.values.depends([value], 1500) if isinstance(n, ast.Call)]
    if any(draft.names.last(c.func) == "moments" for c in calls):
        return False
    return any(
        draft.names.last(c.func) in GRAPH_SOURCES
        or (draft.names.last(c.func) == "placeholder" and draft.facts.steps.placeholders.shape(c) != [])
        for c in calls
    )


def _is_trained(draft: Draft, made: ast.Call) -> bool:
    given = argument(made, "trainable")
    return draft.names.last(made.func) in ("Variable", "get_variable") and not (
        isinstance(given, ast.Constant) and not given.value
    )


def _losses(draft: Draft) -> Iterator[ast.expr]:
    """What is minimized."""
    for call in draft.sites.graph_minimizes:
        loss = draft.sites.loss_of(call)
        if loss is not None:
            yield loss
    for call in draft.sites.method_calls("compute_gradients", "gradients"):
        loss = argument(call, "loss", 0) or argument(call, "ys", 0)
        if loss is not None:
            yield loss


__all__ = ["apply", "go_as_far"]
