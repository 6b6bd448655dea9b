"""`model.fit(…)`."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.callbacks.callback_lists import elements
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.elastic import names
from horovodize.rules.elastic.at_start import growth, refuse_what_is_made_once
from horovodize.rules.elastic.block import can_be_a_body, into_function
from horovodize.source import Edit, Span
from horovodize.summary.site_kinds import Fit

_WHAT = "Make training elastic"
_WHY = "Horovod runs it again from the last epoch when ranks die or join."
_FORM = "elastic training needs `model.fit(…)`, or `history = model.fit(…)`, as a statement of its own that runs once"
_UNNAMED = "the state can't be named: the model has no plain name here"
_OWN_STEP = "the state can't be named: this model's own `train_step` may change more than its weights"
_BEGINS = "with `{}` given, the epoch to go on with can't be told"
_CALLBACK = (
    "the state can't be named: `{}` keeps something from epoch to epoch that is lost when ranks change"
)
_UNBUILT = (
    "`{}` has no weights before the first step, so a rank that joins later can't take them; give its first layer an "
    "`input_shape`, or call `{}.build(…)` before"
)
# Callbacks that keep nothing from one epoch to the next.
_FORGETFUL = {"TerminateOnNaN", "TensorBoard", "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger"}


def apply(draft: Draft) -> None:
    fit = draft.sites.fits[0]
    if draft.reasons:
        return
    statement = draft.syntax.statement(fit.call)
    ways = draft.drive.ways(fit.call)
    plain = isinstance(statement, (ast.Expr, ast.Assign)) and statement.value is fit.call
    one = isinstance(statement, ast.Expr) or (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    )
    once = len(ways) == 1 and not any(frame.loops for frame in ways[0])
    if fit.method != "fit" or not (plain and one and once) or not can_be_a_body(draft, statement):
        draft.refuse("HVD006", fit.call, _FORM)
        return
    _look_at(draft, fit)
    refuse_what_is_made_once(draft, statement)
    if not draft.reasons:
        _write(draft, fit, statement)


def _look_at(draft: Draft, fit: Fit) -> None:
    if not isinstance(fit.model, ast.Name):
        draft.refuse("HVD006", fit.call, _UNNAMED)
        return
    name = fit.model.id
    if draft.sites.own_step(fit.model) is not None:
        draft.refuse("HVD006", fit.call, _OWN_STEP)
    for given in ("initial_epoch", "steps_per_epoch"):
        value = argument(fit.call, given, 11 if given == "initial_epoch" else 12)
        if value is not None:
            draft.refuse("HVD006", value, _BEGINS.format(given))
    if not draft.is_built(fit.model, draft.syntax.statement(fit.call)):
        draft.refuse("HVD006", fit.call, _UNBUILT.format(name, name))
    callbacks = argument(fit.call, "callbacks", 5)
    if callbacks is not None:
        for element in elements(draft, callbacks):
            for origin in draft.values.origins(element):
                _look_at_callback(draft, element, origin.node)


def _look_at_callback(draft: Draft, element: ast.expr, made: ast.AST) -> None:
    last = draft.names.last(made.func) if isinstance(made, ast.Call) else ""
    known = isinstance(made, ast.Call) and (draft.names.of(made.func) or "").startswith(
        "tensorflow.keras.callbacks."
    )
    best = argument(made, "save_best_only") if isinstance(made, ast.Call) else None
    often = argument(made, "save_freq") if isinstance(made, ast.Call) else None
    keeps = (best is not None and not (isinstance(best, ast.Constant) and not best.value)) or (
        often is not None and not (isinstance(often, ast.Constant) and often.value == "epoch")
    )
    if not known or last not in _FORGETFUL or keeps:
        draft.refuse("HVD006", element, _CALLBACK.format(last or draft.module.text(element)))


def _write(draft: Draft, fit: Fit, statement: ast.stmt) -> None:
    elastic, name, train = names.module(draft), names.state(draft), names.train(draft)
    model = draft.module.text(fit.model)
    given = [model, f"{model}.optimizer"]
    rate = growth(draft)
    if rate != "linear":
        given.append(f"rate={draft.quoted(rate)}")
    line = f"{name} = {elastic}.State({', '.join(given)})"
    comment = "Horovod: what training goes on from when ranks die or join."
    edits: list[Edit] = [draft.add_argument(fit.call, f"initial_epoch={name}.epoch")]
    call = f"{train}({name})"
    if isinstance(statement, ast.Assign):
        start = draft.module.span(statement).start
        call = f"{draft.module.text(statement.targets[0])} = {call}"
        edits.append(Edit(Span(start, draft.module.span(fit.call).start), "return "))
    heading = [f"@{elastic}.run", f"def {train}({name}):"]
    before = draft.lines_of(line, comment=comment)
    draft.change(
        "L1", fit.call, _WHAT, _WHY, into_function(draft, statement, before, heading, edits, (), [call])
    )
