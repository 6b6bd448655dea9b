"""Updates that apply gradients which ranks have averaged before: all must apply them, or their weights part.

gradients = tape.gradient(loss, model.trainable_variables)  # of a `hvd.DistributedGradientTape`
if loss < 4.0:
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))"""

from __future__ import annotations

import ast
from functools import cached_property

from horovodize.facts.facts import Facts
from horovodize.facts.horovod.horovod_use import WRAPPERS
from horovodize.interleaving.waits import Waits
from horovodize.summary.site_kinds import Update

_APPLYING = ("apply_gradients", "apply")
WEIGHTS_BY_STEP = "weights by this step"  # begins as what a broadcast of variables sends


class AppliedSteps:
    """Those of one script that isn't a graph."""

    def __init__(self, facts: Facts, waits: Waits) -> None:
        self.facts, self._waits = facts, waits

    @cached_property
    def all(self) -> set[ast.Call]:
        if self.facts.sites.builds_graph:
            return set()
        return {
            u.call for u in self.facts.sites.updates if u.method in _APPLYING and self._is_averaged_before(u)
        }

    def _is_averaged_before(self, update: Update) -> bool:
        if update.call in self.facts.collectives.all or self._averages_itself(update):
            return False
        asked = [g for g in update.gradients if g.func in self._waits.asking]
        by_tape = bool(asked) and len(asked) == len(update.gradients)
        averaging = {c for c, made in self.facts.collectives.all.items() if made.trains}
        return by_tape or any(
            n in averaging for e in update.call.args[:1] for n in self.facts.module.values.depends([e])
        )

    def _averages_itself(self, update: Update) -> bool:
        """Whether an optimizer may average what it is given: then ranks wait for each other where they apply it."""
        if update.optimizer is None:
            return True
        use = self.facts.horovod
        arrivals = self.facts.optimizers.arrivals(update.optimizer)
        return bool(use.wrapped) and (not arrivals or any(use.is_call(a.node, *WRAPPERS) for a in arrivals))
