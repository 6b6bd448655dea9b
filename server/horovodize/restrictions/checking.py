"""Runs the restrictions over a module."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import not_distributed, unreadable
from horovodize.restrictions.context import Context
from horovodize.restrictions.registry import every_restriction
from horovodize.restrictions.violation import Violation
from horovodize.summary import LoopKind, ModuleSummary


def find(summary: ModuleSummary, options: Options) -> list[Violation]:
    """All violations of a document, suppressed ones included."""
    if summary.problem is not None:
        return [unreadable.violation(summary.problem.message, summary.problem.span)]
    try:
        if summary.module is None or summary.already is LoopKind.HOROVOD:
            return []
        context = Context(summary, options)
        found = {violation: None for restriction in every_restriction() for violation in restriction.find(context)}
        return [*found, *not_distributed.hints(context, list(found))]
    except RecursionError:
        return [unreadable.violation("the code is nested too deeply to be followed")]
