"""K8 reload: a compiled model from disk that goes on training gets Horovod's optimizer.

What it does   `tf.keras.models.load_model(f)` of a model that is then fitted without being compiled again becomes
               Horovod's `load_model(f)`, which wraps the optimizer that comes with the model.
Why            The optimizer is loaded as it was saved: unwrapped, every rank trains a model of its own.
Before         model = tf.keras.models.load_model("model.h5")
               model.fit(x, y)
After          model = hvd_keras.load_model("model.h5")
               model.fit(x, y)
Leaves alone   Models that only predict or evaluate, and models that are compiled again (K1).
Asks           A model that this program did not save: its rate is the one it was saved with, and is scaled here; where a
               distributed run saved it, it is scaled already.
Source         Beyond the seed; `hvd.load_model` is Horovod's own answer (horovod#1964, 2486).
"""

from __future__ import annotations

import ast

from horovodize.rules import strong
from horovodize.rules.decisions import Wrapped
from horovodize.rules.draft import KERAS, Draft
from horovodize.rules.rule import Rule
from horovodize.source import Edit
from horovodize.summary.syntax import argument

_LOADERS = ("tensorflow.keras.models.load_model", "tensorflow.keras.saving.load_model")
_WHY = "The optimizer that comes with the model is wrapped as it is loaded."


def apply(draft: Draft) -> None:
    for fit in draft.sites.fits:
        for call in draft.values.calls(fit.model):
            if (
                draft.names.of(call.func) in _LOADERS
                and not _compiled_again(draft, fit.model, call)
                and draft.decide(call, Wrapped("K8"))
            ):
                _load_distributed(draft, call, strong.model_factor(draft, fit.model))


def _compiled_again(draft: Draft, model: ast.expr, load: ast.Call) -> bool:
    text = ast.unparse(model)
    compile_argument = argument(load, "compile", 2)
    if isinstance(compile_argument, ast.Constant) and compile_argument.value is False:
        return True
    return any(
        ast.unparse(c.model) == text and c.call.lineno > load.lineno and load in draft.values.calls(c.model)
        for c in draft.sites.compiles
    )


def _load_distributed(draft: Draft, call: ast.Call, grown: str) -> None:
    saved_here = bool(draft.sites.method_calls("save")) or bool(
        draft.module.calls_of("tensorflow.keras.models.save_model")
    )
    edits = [Edit(draft.module.span(call.func), f"{KERAS}.load_model")]
    what = "Load the model with Horovod's wrapper around its optimizer"
    if saved_here or not grown:
        draft.change("K8", call, what, _WHY, edits)
        return
    statement = draft.syntax.statement(call)
    if (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and statement.value is call
        and draft.can_insert(statement)
    ):
        name = draft.module.text(statement.targets[0])
        line = f"{name}.optimizer.learning_rate = {name}.optimizer.learning_rate{grown}"
        edits.append(draft.after(statement, [line]))
    draft.change(
        "K8",
        call,
        what,
        _WHY,
        edits,
        doubt="the loaded rate is scaled here; where a distributed run saved this model, it is scaled already",
    )


RULE = Rule("K8", "load compiled models with Horovod's wrapper", apply, __doc__ or "")
