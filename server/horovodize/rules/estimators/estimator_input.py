"""The input of Estimators: every rank trains on its own part. Part of E1.

Arrays of `numpy_input_fn` and `pandas_input_fn` are divided where they are passed. Datasets that input functions make are
divided by D1, which is told of them here. A function that gives elements of a dataset for training and for evaluation, or
makes such input functions, divides it inside, for the call of the training.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.syntax import CALLABLES, argument
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.parameters import can_get_a_parameter
from horovodize.rules.numbers.shares import feeding, is_none, wrap
from horovodize.rules.rows import data
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.summary.estimators import Estimators, Told, Training
from horovodize.summary.feeding import Kind

_WHAT = "Give every rank its own rows"
_WHY = "Ranks that all train on everything do size() times the work; equally many rows on each keep them in step."
_DOUBT = "it can't be seen whether this is one array (or a dict of several, which `shard` can't divide)"
_SHARED = "evaluations or predictions get this input function, too, so it is not divided"
_UNSEEN = "it can't be seen what this input function gives, so it is not divided"
_POPPED = "these arrays are changed while they are passed, so they are not divided"
_STEPS = (
    "the steps are divided and the rate grows, but unless it draws at random, every rank gets the same batches; let it give "
    "each rank its own for training, `dataset.shard(hvd.size(), hvd.rank())`"
)
_EVERYTHING = "every rank trains on all of it"


def divide(draft: Draft, known: Estimators) -> None:
    """Divides what the input functions of all trainings give."""
    pipelines = feeding(draft).pipelines
    feeds: list[ast.expr] = []
    for training in known.trainings:
        for given in known.inputs(training, pipelines):
            if _divide_told(draft, given.told):
                continue
            if given.shared:
                _tell(draft, training, _SHARED)
            elif given.arrays is not None and _pops(given.arrays):
                _tell(draft, training, _POPPED)
            elif given.arrays is not None:
                _divide_arrays(draft, given.arrays)
            elif given.datasets:
                feeds += given.datasets
            else:
                _tell(draft, training, _UNSEEN)
    _feed(draft, known, feeds)


def _divide_told(draft: Draft, told: Sequence[Told]) -> bool:
    """Divides what functions make for calls of a training, inside them and for these calls alone. Whether all of it is."""
    if draft.options.elastic or draft.options.keeps_batch:
        return False
    known = feeding(draft).pipelines
    found = [(t, known.places_told(t.call, t.function, t.datasets)) for t in told]
    for t, places in found:
        done = any(draft.was(p, Shared) for p in places)
        if not places or done or not can_get_a_parameter(draft, t.function):
            return False
    for t, places in found:
        if draft.decide(t.call, Shared("D1")):
            data.divide_for(draft, t.call, t.function, places)
    return bool(found)


def _tell(draft: Draft, training: Training, reason: str) -> None:
    at = training.input_fn
    assert at is not None
    counted = not (is_none(training.steps) and is_none(training.max_steps))
    if counted:
        draft.ask("E1", at, _WHAT, _WHY, f"{reason}: {_STEPS}")
    else:
        strong.leave(draft, [at])
        draft.note("E1", at, f"{reason}: {_EVERYTHING}")


def _feed(draft: Draft, known: Estimators, feeds: list[ast.expr]) -> None:
    """Has D1 divide the datasets of input functions for training, and leave those of other input functions whole."""
    functions = {n for n in known.input_functions if isinstance(n, CALLABLES)}
    every = feeding(draft).dataset_feeds
    elsewhere = (
        [] if draft.sites.graph.trainings else feeding(draft).graph_feeds
    )  # no session trains on those
    kept = [
        e for e in every if e not in elsewhere and not any(a in functions for a in draft.syntax.ancestors(e))
    ]
    every[:] = list(dict.fromkeys([*kept, *feeds]))


def _pops(call: ast.Call) -> bool:
    """Whether `x=frame, y=frame.pop("label")` takes the labels out of the features only after those were passed."""
    return any(isinstance(n, ast.Attribute) and n.attr == "pop" for n in ast.walk(call))


def _divide_arrays(draft: Draft, call: ast.Call) -> None:
    """The arrays of one `numpy_input_fn(x, y)`."""
    for parameter, index in (("x", 0), ("y", 1)):
        data = argument(call, parameter, index)
        if data is not None and not is_none(data):
            _divide_array(
                draft, data, may_be_dict=parameter == "x" and draft.names.last(call.func) == "numpy_input_fn"
            )


def _divide_array(draft: Draft, data: ast.expr, may_be_dict: bool) -> None:
    if isinstance(data, ast.Dict):
        for value in data.values:
            _divide_array(draft, value, may_be_dict=False)
        return
    if draft.was(data, Shared):
        return
    kinds = feeding(draft).kinds
    if may_be_dict and kinds.of(data, with_targets=True) is Kind.MAPPING:
        if draft.decide(data, Shared("E1")):
            draft.divided = True
            around = f"{{key: {draft.helper('shard')}(part) for key, part in ", ".items()}"
            draft.change("E1", data, _WHAT, _WHY, Edit.around(draft.module.span(data), *around))
        return
    edits = wrap(draft, data, "shard", "E1")
    if edits:
        doubt = _DOUBT if may_be_dict and kinds.is_opaque(data) else ""
        draft.change("E1", data, _WHAT, _WHY, edits, doubt)


__all__ = ["divide"]
