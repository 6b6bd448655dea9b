"""What layers and losses count with each batch that they see, validation's included: part of G5.

    def call(self, y_true, y_pred):
        self.seen.assign_add(1.0)
        weight = tf.minimum(1.0, self.seen / 1000)

Keras calls a layer, and a loss, for the batches of validation, too. A rank trains on 1/size() of the batches, which its count
makes up for; where each rank validates on all of them, those count size() times as much as before. Only the user knows
whether they should count at all, so it is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import Function, argument
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import is_none
from horovodize.rules.weights import layer_state
from horovodize.rules.weights.layer_state import Set
from horovodize.source.nodes import walk

_CALLED = ("call", "__call__")
_TELLING = ("training", "learning_phase", "in_train_phase")
_PLAIN = (
    "minimum",
    "maximum",
    "min",
    "max",
    "cast",
    "clip_by_value",
    "clip",
    "float",
    "int",
    "constant",
    "identity",
)
_EVALUATING = ("evaluate", "evaluate_generator", "test_on_batch")
_WHAT = "Count the batches that are trained on"
_WHY = "Each rank takes size() times fewer steps, and validates on as many batches as before."
_DOUBT = (
    "this counts the batches of validation, too, which each rank sees all of: with those of training they no longer count as "
    "alone; count only in training (`if training:` in a layer; a callback's `on_train_batch_end` for a loss)"
)


def ask(draft: Draft) -> None:
    """Asks about each such count that training computes with."""
    if draft.in_graph or not _validates_on_all(draft):
        return
    for methods in layer_state.run_by_steps(draft, _CALLED):
        counts = [one for method in methods for one in _counts(draft, methods, method)]
        read = layer_state.read_in_training(draft, methods) if counts else set()
        for one in counts:
            if one.kept in read and draft.once("counts validation", one.call):
                draft.ask("G5", one.call, _WHAT, _WHY, _DOUBT)


def _counts(draft: Draft, methods: list[Function], method: Function) -> Iterator[Set]:
    """What a method sets by no rows, from what it is: `self.seen.assign_add(1)`, `self.heat.assign(self.heat * 0.99)`.
    Not where it asks whether it trains."""
    if any(_tells(n) for n in walk(method)):
        return
    for one in layer_state.sets(draft, method):
        goes_on = isinstance(one.call.func, ast.Attribute) and one.call.func.attr in (
            "assign_add",
            "assign_sub",
        )
        last = any(ast.unparse(n) == one.kept for e in one.by for n in ast.walk(e) if isinstance(n, ast.expr))
        by_itself = (goes_on or last) and not any(
            _is_other(draft, one, n) for e in one.by for n in ast.walk(e)
        )
        if by_itself and not layer_state.set_by_rows(draft, methods, one):
            yield one


def _is_other(draft: Draft, one: Set, n: ast.AST) -> bool:
    """Whether something is computed by more than what it was and numbers: by a weight, as spectral norms are."""
    if isinstance(n, ast.Call):
        return draft.names.last(n.func) not in _PLAIN
    if not isinstance(n, (ast.Name, ast.Attribute)) or not isinstance(n.ctx, ast.Load):
        return False
    return ast.unparse(n) != one.kept and layer_state.is_variable(draft, n)


def _tells(n: ast.AST) -> bool:
    """Whether a node says whether a layer trains."""
    return (isinstance(n, ast.Name) and n.id in _TELLING and isinstance(n.ctx, ast.Load)) or (
        isinstance(n, ast.Attribute) and n.attr in _TELLING
    )


def _validates_on_all(draft: Draft) -> bool:
    """Whether a divided `fit` validates on all batches on each rank, or a loop around it evaluates."""
    for fit in draft.sites.fits:
        data = argument(fit.call, "validation_data") if fit.method != "train_on_batch" else None
        if data is not None and not is_none(data):
            if not any(draft.was(n, Shared) for n in walk(data) if isinstance(n, ast.expr)):
                return True
    loops = {loop for fit in draft.sites.fits for loop in draft.syntax.loops(fit.call)}
    return any(
        loop in loops for call in draft.sites.method_calls(*_EVALUATING) for loop in draft.syntax.loops(call)
    )


__all__ = ["ask"]
