"""K8 reload: a compiled model from disk that goes on training gets Horovod's optimizer.

What it does   `tf.keras.models.load_model(f)` of a model that is then fitted without being compiled again becomes
               `load_distributed(f)`, a function in the head of the file that loads it, wraps the optimizer that comes with the
               model, and gives it the state that it was saved with. For Keras 3, and TensorFlow before 2.11, it is
               Horovod's `load_model(f)`.
Why            The optimizer is loaded as it was saved: unwrapped, every rank trains a model of its own. Horovod's own
               `load_model` wraps nothing from TensorFlow 2.11 on, if the model was saved by one process alone.
Before         model = tf.keras.models.load_model("model.h5")
               model.fit(x, y)
After          model = load_distributed("model.h5")
               model.fit(x, y)
Leaves alone   Models that only predict or evaluate, and models that are surely compiled again (K1): `if not model.compiled:`
               may leave that out.
Asks           A model that this program does not save in the same file: its rate is the one it was saved with, and is scaled
               here; where a distributed run saved it, it is scaled already. Where it can't be seen which file is loaded,
               and this program saves models, the rate stays as it was saved.
Source         Beyond the seed; `hvd.load_model` is Horovod's own answer (horovod#1964, 2486). Measured with TensorFlow 2.15.1.
"""

from __future__ import annotations

import ast

from horovodize.facts.rates.saved_models import Saved, saved_by
from horovodize.python.syntax import argument
from horovodize.rules.drafting.decisions import Wrapped
from horovodize.rules.drafting.draft import KERAS, Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.scaling import strong
from horovodize.source import Edit, Span
from horovodize.summary.site_kinds import Fit
from horovodize.world.versions import before

_FIRST_THAT_HOROVOD_MISSES = (2, 11)
_LOADERS = ("tensorflow.keras.models.load_model", "tensorflow.keras.saving.load_model")
_WHAT = "Load the model with Horovod's wrapper around its optimizer"
_WHY = "The optimizer that comes with the model is wrapped as it is loaded."
_SCALED = "the loaded rate is scaled here; where a distributed run saved this model, it is scaled already"
_LEFT = "the loaded rate stays as it was saved: right if a distributed run saved this model, else multiply it by size()"


def apply(draft: Draft) -> None:
    for fit in draft.sites.fits:
        for call in draft.values.calls(fit.model):
            if (
                draft.names.of(call.func) in _LOADERS
                and not _compiled_again(draft, fit, call)
                and draft.decide(call, Wrapped("K8"))
            ):
                _load_distributed(draft, call, strong.model_factor(draft, fit.model))


def _compiled_again(draft: Draft, fit: Fit, load: ast.Call) -> bool:
    """Whether a model is surely compiled between where it is loaded and where it is trained, or comes without an optimizer."""
    text = ast.unparse(fit.model)
    compile_argument = argument(load, "compile", 2)
    if isinstance(compile_argument, ast.Constant) and compile_argument.value is False:
        return True
    return any(
        ast.unparse(c.model) == text
        and c.call.lineno > load.lineno
        and load in draft.values.calls(c.model)
        and not _may_be_left_out(draft, c.call, (load, fit.call))
        for c in draft.sites.compiles
    )


def _may_be_left_out(draft: Draft, compiled: ast.Call, beside: tuple[ast.Call, ...]) -> bool:
    """Whether a decision that isn't around other places, too, may leave a compile out: `if model.optimizer is None:`."""
    tests = [
        {(ast.unparse(decision.test), arm) for decision, arm in draft.syntax.conditions(place)}
        for place in (compiled, *beside)
    ]
    return not set().union(*tests[1:]).issuperset(tests[0])


def _load_distributed(draft: Draft, call: ast.Call, grown: str) -> None:
    horovods = draft.keras_3 or before(draft.world.tensorflow, _FIRST_THAT_HOROVOD_MISSES)
    loader = f"{KERAS}.load_model" if horovods else draft.helper("load_distributed")
    edits = [Edit(draft.module.span(call.func), loader)]
    saved = saved_by(draft.module, draft.sites, argument(call, "filepath", 0)) if grown else Saved.HERE
    if saved is Saved.HERE:
        draft.change("K8", call, _WHAT, _WHY, edits)
        return
    scaled = _scaled(draft, call, grown) if saved is Saved.ELSEWHERE else None
    draft.change("K8", call, _WHAT, _WHY, [*edits, *(scaled or ())], doubt=_SCALED if scaled else _LEFT)


def _scaled(draft: Draft, call: ast.Call, grown: str) -> list[Edit] | None:
    """The rate of a model that `model = load_model(…)` or `return load_model(…)` loads is scaled; None where no line can be
    put after it."""
    statement = draft.syntax.statement(call)
    if not draft.can_insert(statement) or getattr(statement, "value", None) is not call:
        return None
    if isinstance(statement, ast.Return):
        name = draft.fresh("loaded")
        start = draft.module.span(statement).start
        named = Edit(Span(start, draft.module.span(call).start), f"{name} = ")
        return [named, draft.after(statement, [_line(name, grown), f"return {name}"])]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    return [draft.after(statement, [_line(draft.module.text(statement.targets[0]), grown)])]


def _line(name: str, grown: str) -> str:
    return f"{name}.optimizer.learning_rate = {name}.optimizer.learning_rate{grown}"


RULE = Rule("K8", "load compiled models with Horovod's wrapper", apply, __doc__ or "")
