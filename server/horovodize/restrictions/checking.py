"""Runs the restrictions over a module."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import estimator_gone, not_distributed, other_keras, unknown_code, unreadable
from horovodize.restrictions.context import Context
from horovodize.restrictions.registry import OF_DISTRIBUTED, OF_GRAPHS, OF_SCRIPTS, OF_TORCH, restrictions
from horovodize.restrictions.restriction import Restriction
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
        asked = _asked(context, distributed)
        found = list(dict.fromkeys(v for restriction in asked for v in restriction.find(context)))
        hints = [] if distributed else not_distributed.hints(context, found)
        return suppressions.split([*found, *hints, *unknown_code.violations(suppressions)])
    except RecursionError:
        return Findings([unreadable.violation("the code is nested too deeply to be followed")])


def _asked(context: Context, distributed: bool) -> list[Restriction]:
    """The restrictions that a module may break, by what it uses."""
    of_graphs = restrictions(OF_GRAPHS) if context.sites.graph.all_runs else []
    if not distributed:
        return [*restrictions(OF_SCRIPTS), *of_graphs]
    faults = restrictions(OF_TORCH if context.facts.horovod.of_torch else OF_DISTRIBUTED)
    return [*faults, estimator_gone.RESTRICTION, other_keras.RESTRICTION, *of_graphs]
