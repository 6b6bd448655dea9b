"""Train ops of a graph that average nothing (a part of HVD304)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.mending import horovod, wrapped
from horovodize.restrictions.horovod.own_gradients import (
    applies_plain,
    averages_weights,
    may_be_handed_on,
)
from horovodize.restrictions.horovod.plain_optimizers import is_plain
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Violation
from horovodize.summary.site_kinds import Update


def wrap(context: Context, optimizer: ast.expr, name: str | None) -> Fix | None:
    """Wraps an optimizer where it is given, unless that is a name of one."""
    if isinstance(optimizer, ast.Constant):
        return None
    edits = wrapped(context, optimizer, "DistributedOptimizer", name)
    return Fix("Average its gradients", edits) if edits else None


def _applies(context: Context, restriction: Restriction, call: ast.Call) -> Iterator[Violation]:
    """A graph's train op of gradients that nothing has averaged."""
    if not context.sites.builds_graph or not (
        context.facts.horovod.runs(call) or may_be_handed_on(context, call)
    ):
        return
    why = applies_plain(context, call)
    if why and not context.facts.rank_tests.may_be_guarded(call):
        yield restriction.at(
            context,
            call,
            f"each rank applies gradients of its own with this: {why}; take them from the `compute_gradients` of a "
            "`hvd.DistributedOptimizer`",
        )


def minimizes_apart(context: Context, restriction: Restriction, update: Update) -> Iterator[Violation]:
    """The same of an optimizer that minimizes eagerly, or in a model's own `train_step`."""
    optimizer, call = update.optimizer, update.call
    if optimizer is None or not is_plain(context, optimizer) or averages_weights(context):
        return
    tape = argument(call, "tape")
    if tape is not None and context.facts.horovod.depends_on(tape, *TAPES):
        return
    if update.step_of is None and not context.facts.horovod.runs(call):
        return
    if context.facts.rank_tests.may_be_guarded(call):
        return
    yield restriction.at(
        context,
        call,
        "each rank takes a step of its own with this: the optimizer averages nothing; wrap it in "
        "`hvd.DistributedOptimizer(optimizer)`",
    )


def minimizes(context: Context, restriction: Restriction) -> Iterator[Violation]:
    use = context.facts.horovod
    for call in context.sites.graph_minimizes:
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "apply_gradients":
            yield from _applies(context, restriction, call)
        optimizer = context.sites.optimizer_of(call) if context.sites.loss_of(call) is not None else None
        if optimizer is None:
            continue
        if not is_plain(context, optimizer) or not (use.runs(call) or may_be_handed_on(context, call)):
            continue
        if context.facts.rank_tests.may_be_guarded(call):
            continue
        yield restriction.at(
            context,
            call,
            "each rank trains a model of its own with this: the optimizer averages nothing; wrap it in "
            "`hvd.DistributedOptimizer(optimizer)`",
            fixes=[wrap(context, optimizer, horovod(context))],
        )
