"""Callbacks of the user's own that set weights or variables by what a rank measured itself. Part of K3.

    def on_train_batch_end(self, batch, logs=None):
        if logs["loss"] < self.best:
            self.best, self.weights = logs["loss"], self.model.get_weights()

    def on_epoch_end(self, epoch, logs=None):
        self.model.set_weights(self.weights)

Metrics are averaged when an epoch ends, those of batches are each rank's own: so are what is chosen and what is set by them.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, arguments
from horovodize.rules.callbacks.callback_decisions import agree_on, is_own, is_rate, sets_rate, tests_around
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.drawn_weights import given_to_weights

_ASSIGNS = ("assign", "assign_add", "assign_sub")
_SET_VALUE = "tensorflow.keras.backend.set_value"
_WHAT = "Set the same on all ranks"
_WHY = "Ranks that go on with other weights, or compute with other numbers, train different models."
_WEIGHTS = (
    "each rank chooses these weights by what it measured itself, and nothing sends rank 0's: where all ranks come here, add "
    "`hvd.broadcast_variables(self.model.variables, root_rank=0)` (of `horovod.tensorflow`) after it"
)
_VARIABLE = (
    "each rank sets this by what it measured itself, so it differs between the ranks: average what it is set by with "
    "`hvd.allreduce` (of `horovod.tensorflow`), or check that training does not compute with it"
)


def apply(draft: Draft) -> None:
    for hook in draft.facts.hooks.all:
        for call in (n for n in ast.walk(hook.function) if isinstance(n, ast.Call)):
            weights = given_to_weights(draft, call)
            given = weights or _given_to_variable(draft, call)
            if given is None:
                continue
            tests = tests_around(draft, call)
            if is_own(draft, [given] if sets_rate(draft, call) else [given, *tests]):
                if weights is not None and not is_own(draft, [given]):
                    agree_on(
                        draft, hook.function, call, own_only=True
                    )  # what is set is the same on all ranks
                elif draft.once("own state", call):
                    draft.ask("K3", call, _WHAT, _WHY, _WEIGHTS if weights is not None else _VARIABLE)


def _given_to_variable(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a call sets a variable to that is no rate: `self.factor.assign(x)`, `K.set_value(factor, x)`."""
    if draft.names.of(call.func) == _SET_VALUE:
        held, given = argument(call, "x", 0), argument(call, "value", 1)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _ASSIGNS:
        held, given = call.func.value, next(iter(arguments(call)), None)
    else:
        return None
    return given if held is not None and not is_rate(draft, held) else None
