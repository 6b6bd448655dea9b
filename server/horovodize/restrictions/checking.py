"""Runs the restrictions over a module."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import not_distributed, unreadable
from horovodize.restrictions.context import Context
from horovodize.restrictions.registry import every_restriction
from horovodize.restrictions.suppress import Suppressions
from horovodize.restrictions.violation import Violation
from horovodize.summary import LoopKind, ModuleSummary


def violations(summary: ModuleSummary, options: Options) -> list[Violation]:
    """The violations of a document that no comment suppresses, in any order."""
    suppressions = Suppressions(summary.document)
    if summary.problem is not None:
        return suppressions.kept([unreadable.violation(summary.problem.message, summary.problem.span)])
    try:
        if summary.module is None or summary.already is LoopKind.HOROVOD:
            return []
        context = Context(summary, options)
        found = list(
            dict.fromkeys(v for restriction in every_restriction() for v in restriction.find(context))
        )
        kept = suppressions.kept(found)
        return kept + suppressions.kept(list(not_distributed.hints(context, found, kept)))
    except RecursionError:
        return [unreadable.violation("the code is nested too deeply to be followed")]
