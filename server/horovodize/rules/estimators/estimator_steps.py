"""The steps that an earlier run's Estimators have counted, read before training goes on: part of E1.

`estimator.get_variable_value("global_step")`, the number in the name of a checkpoint. Rank 0 alone has the model's directory,
and the number is that of a rank's steps: ranks would go on from different ones, and from too few."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import position
from horovodize.rules.drafting.draft import Draft
from horovodize.summary.estimators import Training

_WHAT = "Go on from the steps that an earlier run has counted"
_WHY = "Only rank 0 has the model's directory, and its checkpoints count the steps of one rank."
_ASKED = (
    "this number counts a rank's steps, size() times fewer than alone, and only rank 0 finds the checkpoint that it is read "
    "from: let all ranks take rank 0's, multiplied by `hvd.size()`, or begin with an empty directory"
)
_FINDING = ("latest_checkpoint", "get_checkpoint_state")


def ask(draft: Draft, trainings: list[Training]) -> None:
    """Asks of the numbers that a later run goes on from."""
    for read in _read_before(draft, trainings):
        if draft.once("restored steps of an estimator", read):
            draft.ask("E1", read, _WHAT, _WHY, _ASKED)


def _read_before(draft: Draft, trainings: list[Training]) -> Iterator[ast.Call]:
    counts = draft.facts.counters.graph_counts
    for call in draft.module.calls_called("get_variable_value"):
        if counts.reads_of_estimator(call) and not _follows_training(draft, call, trainings):
            yield call
    found = {c for name in _FINDING for c in draft.module.calls_called(name)}
    for call in draft.module.calls_called("int") if found else ():
        behind = draft.values.depends([*call.args], 200)
        if not found.isdisjoint(behind) and not _follows_training(draft, call, trainings):
            yield call


def _follows_training(draft: Draft, call: ast.Call, trainings: list[Training]) -> bool:
    """Whether what is read is this run's own: a training stands before it in the same function."""
    function = draft.syntax.function(call)
    return any(
        draft.syntax.function(t.call) is function and position(t.call) < position(call) for t in trainings
    )


__all__ = ["ask"]
