"""Events by the number of a batch, of which Keras tells one in so many: part of G5.

`compile(steps_per_execution=10)` has `on_train_batch_end` called with every tenth batch. `if batch % 100 == 99:` meets the last
of ten alone; a quarter of a hundred, on 4 ranks, is met by half of those that come. That is asked.
(Of Keras 3 the steps at once are divided, too.)"""

from __future__ import annotations

import ast

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.python.syntax import argument
from horovodize.rules.counts import thresholds
from horovodize.rules.drafting.decisions import Asked
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding

_SKIPPED = (
    "Keras calls this once for `steps_per_execution` steps, with the number of the last: a rank's number for an event must be "
    "one of those; go by the calls that were counted, or by `>=`"
)


def ask(draft: Draft, test: ast.expr, counter: Counter | None) -> bool:
    """Asks about an event at one number of a batch, of which only some are told. Whether it is such a one."""
    if counter is None or counter.kind is not CounterKind.BATCH or draft.keras_3 or not _takes_several(draft):
        return False
    draft.decide(test, Asked("G5"))
    draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _SKIPPED)
    return True


def _takes_several(draft: Draft) -> bool:
    """Whether a model is compiled to take several steps in one call of its graph."""
    given = (argument(site.call, "steps_per_execution") for site in draft.sites.compiles)
    return any(e is not None and feeding(draft).kinds.constant(e) != 1 for e in given)


__all__ = ["ask"]
