"""C7 verbosity: progress bars are drawn by one rank.

What it does   `model.fit`, `evaluate` and `predict` get `verbose=1 if hvd.rank() == 0 else 0`; a `verbose` that is given is
               kept on rank 0, also that of callbacks which steer the training (EarlyStopping, ReduceLROnPlateau, …).
               `tf.keras.utils.Progbar` likewise, and `tqdm` gets `disable=hvd.rank() != 0`; where its steps are divided, so is
               its `total`. All ranks still fit, evaluate and predict.
Why            The bars of several processes in one terminal overwrite each other; in a log they multiply it.
Before         model.fit(x, y, epochs=3)
               scores = model.evaluate(x, y, verbose=args.verbose)
After          model.fit(x, y, epochs=3, verbose=1 if hvd.rank() == 0 else 0)
               scores = model.evaluate(x, y, verbose=args.verbose if hvd.rank() == 0 else 0)
Leaves alone   `verbose=0`; `predict` of TensorFlow before 2.9, which says nothing by itself; bars on the standard output of
               ranks that C6 silences; a call that passes `**options`, which may hold it; `fit` of what is not a Keras model,
               and of a class that brings its own.
Source         Seed 2.3.1, evaluate. Erratum: the seed inserts the value as third positional argument, which is
               `batch_size`; it leaves `fit` and `predict` out.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.plan import Decision
from horovodize.python.module import Module
from horovodize.python.syntax import argument, has_unpacking
from horovodize.python.unpacking import handed_on
from horovodize.rules.drafting.draft import ON_ROOT, RANK, Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.output import bar_lengths
from horovodize.source import Edit
from horovodize.summary.effects import in_place
from horovodize.summary.outputs import Outputs
from horovodize.summary.sites import MODEL
from horovodize.world.versions import before

_DEFAULT = {
    "fit": "1",
    "fit_generator": "1",
    "evaluate": "1",
    "predict": "1",
    "evaluate_generator": "0",
    "predict_generator": "0",
}
_FIRST_THAT_PREDICTS_ALOUD = (2, 9)
_PROGBAR = "tensorflow.keras.utils.Progbar"
_BARS = ("tqdm", "trange", "tqdm_notebook", "tnrange")
_TOLD_ALIKE = ("rich.progress.track", "alive_progress.alive_it")  # to be silent
_WHY = "Progress bars of several processes would be drawn over each other."


def apply(draft: Draft) -> None:
    outputs = outputs_of(draft)
    effects = outputs.effects
    fits = {f.call for f in draft.sites.fits}
    for call in draft.module.calls_which(_may_show_a_bar):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _DEFAULT:
            method = call.func.attr
            if outputs.silenced:
                continue
            if (
                call in fits
                or (
                    method not in ("fit", "fit_generator")
                    and effects.output_calls.models.is_one(call.func.value)
                )
            ) and (draft.values.callee(call) is None):
                if not _is_left_to_root(outputs, call):
                    known = catalogue.method(MODEL, method)
                    place = known.position("verbose") if known is not None else None
                    silent = method == "predict" and before(
                        draft.world.tensorflow, _FIRST_THAT_PREDICTS_ALOUD
                    )
                    _quiet(draft, call, place, "0" if silent else _DEFAULT[method])
                continue
        name = draft.names.of(call.func) or ""
        is_bar = _is_bar(name)
        steers = catalogue.callback_role(name) == "steers"
        on_stdout = name == _PROGBAR or steers
        if not (is_bar or (on_stdout and not outputs.silenced)) or _is_left_to_root(outputs, call):
            continue
        if name == _PROGBAR:
            _quiet(draft, call, 2, "1")
        elif is_bar:
            _disable(draft, call)
        else:
            known_class = catalogue.cls(name)
            _quiet(draft, call, known_class.position("verbose") if known_class else None, "0")


def _is_bar(name: str) -> bool:
    return (name.startswith("tqdm.") and name.rsplit(".", 1)[-1] in _BARS) or name in _TOLD_ALIKE


def _may_show_a_bar(module: Module, call: ast.Call) -> bool:
    """Whether a call's name is one of what shows progress."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _DEFAULT:
        return True
    name = module.names.of(call.func) or ""
    return _is_bar(name) or name == _PROGBAR or catalogue.callback_role(name) == "steers"


def _is_left_to_root(outputs: Outputs, call: ast.Call) -> bool:
    """Whether C6 leaves a call to rank 0 anyway."""
    return any(_on_root(outputs, a, call) for a in outputs.module.syntax.ancestors(call))


def _on_root(outputs: Outputs, around: ast.AST, call: ast.Call) -> bool:
    """Whether a node around a call is a statement that goes to rank 0 together with the call."""
    if outputs.on_root(around):
        return True
    if not isinstance(around, ast.Expr) or not outputs.hides(around):
        return False
    lifted = outputs.to_lift(around)
    return lifted is not None and not any(outputs.module.syntax.inside(call, e) for e in lifted)


def _quiet(draft: Draft, call: ast.Call, position: int | None, default: str) -> None:
    given = argument(call, "verbose", position)
    what = "Show progress on rank 0 only"
    if given is None:
        if default == "0" or _may_be_told(draft, call) or not in_place(draft.module, call):
            return
        edit = draft.add_argument(call, f"verbose={default} if {ON_ROOT} else 0")
        draft.change("C7", call, what, _WHY, [edit], decision=Decision.PRINTED)
        return
    if (isinstance(given, ast.Constant) and not given.value) or not in_place(draft.module, given):
        return
    span = draft.module.span(given)
    weak = isinstance(given, (ast.IfExp, ast.Lambda, ast.NamedExpr))
    edits = Edit.around(span, "(" if weak else "", f"{')' if weak else ''} if {ON_ROOT} else 0")
    draft.change("C7", call, what, _WHY, edits, decision=Decision.PRINTED)


def _may_be_told(draft: Draft, call: ast.Call) -> bool:
    """Whether `*` or `**` may pass `verbose`."""
    if not has_unpacking(call):
        return False
    passed = handed_on(draft.module, call)
    return passed is None or "verbose" in passed or any(isinstance(a, ast.Starred) for a in call.args)


def _disable(draft: Draft, call: ast.Call) -> None:
    if argument(call, "disable") is not None or has_unpacking(call) or not in_place(draft.module, call):
        return
    if len(call.args) == 1 and isinstance(call.args[0], ast.GeneratorExp) and not call.keywords:
        inner = draft.module.span(call.args[0])
        if inner.end == draft.module.span(call).end:  # its parentheses are those of the call
            return
    edits = [draft.add_argument(call, f"disable={RANK} != 0"), *bar_lengths.of_a_rank(draft, call)]
    draft.change("C7", call, "Show the progress bar on rank 0 only", _WHY, edits, decision=Decision.PRINTED)


RULE = Rule("C7", "show progress on rank 0 only", apply, __doc__ or "")
