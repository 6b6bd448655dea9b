"""Runs the restrictions over a module."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import estimator_gone, not_distributed, other_keras, unknown_code, unreadable
from horovodize.restrictions.context import Context
from horovodize.restrictions.graph.orders import every_order
from horovodize.restrictions.horovod.faults import every_fault, faults_of_torch
from horovodize.restrictions.registry import restrictions
from horovodize.restrictions.suppress import Suppressions
from horovodize.restrictions.violation import Findings
from horovodize.summary import LoopKind, ModuleSummary


def findings(summary: ModuleSummary, options: Options) -> Findings:
    """The violations of a document."""
    suppressions = Suppressions(summary.document)
    if summary.problem is not None:
        return suppressions.split([unreadable.violation(summary.problem.message, summary.problem.span)])
    try:
        if summary.module is None:
            return Findings(())
        context = Context(summary, options)
        distributed = summary.already is LoopKind.HOROVOD
        versions = (estimator_gone.RESTRICTION, other_keras.RESTRICTION)
        faults = faults_of_torch() if context.facts.horovod.of_torch else every_fault()
        asked = (*((*faults, *versions) if distributed else restrictions()), *every_order())
        found = list(dict.fromkeys(v for restriction in asked for v in restriction.find(context)))
        hints = [] if distributed else not_distributed.hints(context, found)
        return suppressions.split([*found, *hints, *unknown_code.violations(suppressions)])
    except RecursionError:
        return Findings([unreadable.violation("the code is nested too deeply to be followed")])
