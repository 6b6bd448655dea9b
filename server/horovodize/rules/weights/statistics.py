"""Batch-norm statistics: part of K3 and G2 (of S4 in `graph_broadcast`).

A batch normalization layer keeps a moving mean and variance of what it sees. They are no gradients: nobody averages them, so
they drift apart between the ranks, and the models are not the same at the end. When a training loop ends, every rank takes
rank 0's, which are those that rank 0 saves."""

from __future__ import annotations

import ast

from horovodize.facts.differences.exits import exits
from horovodize.python.syntax import Loop, argument
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import CORE, KERAS, LINE, Draft
from horovodize.rules.weights import few_updates, layer_state, sent_together
from horovodize.rules.weights.subclass_parts import guarded
from horovodize.source.nodes import walk
from horovodize.summary.site_kinds import Fit

_STACKS = ("tensorflow.keras.Sequential", "tensorflow.keras.models.Sequential")
_LAYERS = ("tensorflow.keras.layers.", "tensorflow.keras.Input")
_COMMENT = "Horovod: rank 0's batch-norm statistics, not averaged."
_BY_GIVEN = ("tensorflow.nn.batch_normalization", "tensorflow.compat.v1.nn.batch_normalization")
_MOMENTS = ("tensorflow.nn.moments", "tensorflow.compat.v1.nn.moments")
_KEEPING = ("assign", "ExponentialMovingAverage", "scatter")
_WHAT = "Take rank 0's batch-norm statistics on every rank"
_WHY = "They are not averaged and drift apart; evaluating and saving then use the same on every rank."


def may_have_statistics(draft: Draft) -> bool:
    """Whether a model of this file may hold batch-norm statistics: it makes such layers, or takes a model that may."""
    for call in draft.syntax.calls:
        name = draft.names.of(call.func) or ""
        last = draft.names.last(call.func)
        if "BatchNorm" in last or (last == "batch_normalization" and not _is_of_batch(draft, call)):
            return True
        if ".applications." in name and last[:1].isupper() and not last.startswith("VGG"):
            return True
        if name.startswith("tensorflow_hub."):
            return True
    if layer_state.keeps(draft):
        return True
    trained = [fit.model for fit in draft.sites.fits] + [v for u in draft.sites.updates for v in u.variables]
    return any(
        draft.names.last(call.func) == "load_model" and not _is_saved_here(draft, call)
        for model in trained
        for call in draft.values.calls(model.value if isinstance(model, ast.Attribute) else model)
    )


def _is_saved_here(draft: Draft, load: ast.Call) -> bool:
    """Whether the file that a model comes from is one in which this script saves a model that it makes itself."""
    kept = [c for c in draft.syntax.calls if draft.names.last(c.func) == "ModelCheckpoint"]
    saving = draft.sites.method_calls("save")
    saved = {ast.unparse(c.args[0]) for c in (*saving, *kept) if c.args}
    if not load.args or ast.unparse(load.args[0]) not in saved:
        return False
    models = [fit.model for fit in draft.sites.fits]
    models += [c.func.value for c in saving if isinstance(c.func, ast.Attribute)]
    made = {c for model in models for c in draft.values.calls(model)}
    return any(draft.names.last(c.func) != "load_model" for c in made)


def _is_of_batch(draft: Draft, call: ast.Call) -> bool:
    """Whether `tf.nn.batch_normalization` gets the mean and variance of the batch itself, as `tf.nn.moments` gives them, in a
    script that assigns to no variable by itself: nothing is kept then."""
    given = [argument(call, "mean", 1), argument(call, "variance", 2)]
    if draft.names.of(call.func) not in _BY_GIVEN or None in given:
        return False
    if any(draft.names.last(c.func).startswith(_KEEPING) for c in draft.syntax.calls):
        return False
    made = [o.node for e in given if e is not None for o in draft.values.origins(e)]
    return all(isinstance(n, ast.Call) and draft.names.of(n.func) in _MOMENTS for n in made)


def after_loop(draft: Draft, loop: Loop, models: list[str]) -> None:
    """Broadcasts the models' statistics after a loop that took steps."""
    if not may_have_statistics(draft) or not draft.can_insert(loop):
        return
    models = [model for model in dict.fromkeys(models) if not _surely_has_none(draft, loop, model)]
    if models:
        few_updates.tell_of_loop(draft, loop)
    new = [model for model in models if draft.once(f"statistics of {model}", loop)]
    if new:
        first = draft.once("statistics", loop)
        if keras_session.is_wanted(draft) and not first:
            return  # a Keras session has sent all that it has
        lines = _sending_all(draft, loop, new)
        lines = list(dict.fromkeys(lines)) if keras_session.is_wanted(draft) else lines
        lines = draft.lines_of(*lines, comment=_COMMENT if first else "")
        returns = exits(loop) if _never_ends(loop) else []
        edits = [draft.before(s, lines) for s in returns if draft.can_insert(s)] or [draft.after(loop, lines)]
        draft.change("G2", loop, _WHAT, _WHY, edits)


def _surely_has_none(draft: Draft, loop: Loop, model: str) -> bool:
    """Whether a model that is called so in a loop is a stack of Keras' layers that is written out, none of which keeps any."""
    named = (n for n in walk(loop) if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == model)
    made = draft.values.calls(first) if (first := next(named, None)) is not None else []
    return bool(made) and all(_is_plain_stack(draft, c) for c in made)


def _is_plain_stack(draft: Draft, made: ast.Call) -> bool:
    layers = argument(made, "layers", 0)
    if not (draft.names.of(made.func) or "").startswith(_STACKS) or not isinstance(
        layers, (ast.List, ast.Tuple)
    ):
        return False
    names = [draft.names.of(e.func) or "" if isinstance(e, ast.Call) else "" for e in layers.elts]
    plain = all(name.startswith(_LAYERS) for name in names)
    adds = any(isinstance(c.func, ast.Attribute) and c.func.attr == "add" for c in draft.syntax.calls)
    return plain and not adds and not any("Norm" in name or "Spectral" in name for name in names)


def _never_ends(loop: Loop) -> bool:
    """Whether nothing comes after a loop, which only `return` leaves: `while True: … if step == steps: return`."""
    return (
        isinstance(loop, ast.While)
        and isinstance(loop.test, ast.Constant)
        and bool(loop.test.value)
        and not any(isinstance(s, ast.Break) for s in exits(loop))
    )


def after_fit(draft: Draft, fit: Fit) -> None:
    """Broadcasts a model's statistics after its `fit`, where a statement can stand there."""
    statement = draft.syntax.statement(fit.call)
    if may_have_statistics(draft):
        few_updates.tell_of_fit(draft, fit)
    if may_have_statistics(draft) and _takes_statement(draft, fit) and draft.once("statistics", statement):
        lines = draft.lines_of(_sending(draft, draft.module.text(fit.model)), comment=_COMMENT)
        draft.change("K3", fit.call, _WHAT, _WHY, [draft.after(statement, lines)])


def callback(draft: Draft, fit: Fit) -> list[str]:
    """The callback that does it instead, for a `fit` after which no statement can stand (`return model.fit(…)`)."""
    if not may_have_statistics(draft) or _takes_statement(draft, fit):
        return []
    if not isinstance(fit.model, (ast.Name, ast.Attribute)):
        return []
    sending = _sending(draft, draft.module.text(fit.model))
    return [f"{draft.tensorflow()}.keras.callbacks.LambdaCallback(on_train_end=lambda logs: {sending})"]


def _sending(draft: Draft, model: str) -> str:
    """What gives a model's statistics to all ranks. They are among what is not trained; a Keras session sends all it has."""
    if keras_session.is_wanted(draft):
        return f"{KERAS}.broadcast_global_variables(0)"
    return f"{CORE}.broadcast_variables({model}.non_trainable_variables, root_rank=0)"


def _sending_all(draft: Draft, place: ast.stmt, models: list[str]) -> list[str]:
    """The lines that give the statistics of models to all ranks: as few as they fit into."""
    lines = [guarded(draft, place, model, _sending(draft, model)) for model in models]
    plain = all(len(of_one) == 1 for of_one in lines) and not keras_session.is_wanted(draft)
    if plain:
        return sent_together.lines([f"{model}.non_trainable_variables" for model in models], LINE)
    return [line for of_one in lines for line in of_one]


def _takes_statement(draft: Draft, fit: Fit) -> bool:
    statement = draft.syntax.statement(fit.call)
    simple = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) and statement.value is fit.call
    return simple and isinstance(fit.model, (ast.Name, ast.Attribute)) and draft.can_insert(statement)
