"""Callbacks of the user's own that draw new weights in the middle of training. Part of K3.

Weights are sent once, when training begins. What a callback draws later, each rank draws for itself, and trains on with it.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.wrapping.after_averaging import fresh_weights

_SETS = ("set_weights", "assign", "assign_add", "assign_sub")
_SET_VALUE = "tensorflow.keras.backend.set_value"
_OF_MODELS = {"model", "layers", "weights", "trainable_weights", "trainable_variables", "variables"}
_BEFORE = ("on_train_begin", "on_test_begin", "on_predict_begin")  # rank 0's weights are sent after these
_WHAT = "Send rank 0's weights after new ones are drawn"
_WHY = "Each rank draws weights of its own here, and from then on the ranks train different models."
_DOUBT = (
    "every rank sets weights that it has drawn itself, and nothing sends rank 0's: where all ranks come here, add "
    "`hvd.broadcast_variables(self.model.variables, root_rank=0)` (of `horovod.tensorflow`) after it, or draw by the "
    "same seed on all of them"
)


def apply(draft: Draft) -> None:
    for hook in draft.facts.hooks.all:
        if hook.name in _BEFORE:
            continue
        for call in (n for n in ast.walk(hook.function) if isinstance(n, ast.Call)):
            given = given_to_weights(draft, call)
            if given is None or not draft.once("drawn", call):
                continue
            drawn = any(_draws(draft, hook.home, n) for n in draft.values.depends([given], 300))
            if drawn or any(fresh_weights(draft, [given])):
                draft.ask("K3", call, _WHAT, _WHY, _DOUBT)


def given_to_weights(draft: Draft, call: ast.Call) -> ast.expr | None:
    """What a call sets weights of a model to: `self.model.set_weights(w)`, `v.assign(w)`, `K.set_value(v, w)`."""
    if draft.names.of(call.func) == _SET_VALUE:
        held, given = argument(call, "x", 0), argument(call, "value", 1)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _SETS:
        held, given = call.func.value, next(iter(arguments(call)), None)
    else:
        return None
    parts = draft.values.depends([held], 200) if held is not None else ()
    of_model = any(isinstance(n, ast.Attribute) and n.attr in _OF_MODELS for n in parts)
    return given if of_model or draft.names.last(call.func) == "set_weights" else None


def _draws(draft: Draft, home: ast.AST, n: ast.AST) -> bool:
    """Whether something that a callback, or a function that it calls, does is a draw that no seed fixes."""
    if not isinstance(n, ast.Call) or not _is_called_by(draft, home, n):
        return False
    draws, name = draft.uniform.draws, draft.names.of(n.func)
    if name is not None and draws.is_drawn(name):
        return not draws.is_fixed(n, name)
    maker = draws.maker(n)
    if maker is not None:
        return not draws.gives_seed(maker)
    return draws.draws_own_weights(n)


def _is_called_by(draft: Draft, home: ast.AST, n: ast.Call) -> bool:
    function = draft.syntax.function(n)
    if function is None:
        return False
    called = {draft.values.callee(c) for c in ast.walk(home) if isinstance(c, ast.Call)}
    return draft.syntax.inside(function, home) or function in called
