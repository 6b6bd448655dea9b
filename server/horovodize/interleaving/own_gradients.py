"""Which values are made of a rank's own gradients, before ranks have averaged them: their norm, whether all are finite.

gradients = tape.gradient(loss, model.trainable_variables)  # of a plain tape
if tf.linalg.global_norm(gradients) > 100.0:
    continue
gradients = [hvd.allreduce(g) for g in gradients]"""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from horovodize.facts.differences.answers import Unknown
from horovodize.facts.differences.sources import AGREEING
from horovodize.facts.facts import Facts
from horovodize.facts.horovod.horovod_use import TAPES
from horovodize.interleaving.asked import is_none

_BEHIND = 1500  # nodes that are looked at behind a value


class OwnGradients:
    """Those of one script that isn't a graph, and whose ranks average what comes of them."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.module = facts, facts.module

    def are_behind(self, e: ast.expr, reasons: Collection[object]) -> bool:
        """Whether a value is made of them. `reasons`: why it may be another one on each rank; what can't be seen may have
        averaged them. How many there are, and whether there is one, is the same on all ranks."""
        if not self._all or any(isinstance(r, Unknown) for r in reasons):
            return False
        if isinstance(e, ast.Compare) and any(map(is_none, e.comparators)):
            return False
        if any(isinstance(n, ast.Name) and n.id == "len" for n in ast.walk(e)):
            return False
        behind = set(self.module.values.depends([e], _BEHIND))
        use = self.facts.horovod
        return not behind.isdisjoint(self._all) and not any(use.is_call(n, *AGREEING) for n in behind)

    @cached_property
    def _all(self) -> set[ast.AST]:
        if self.facts.sites.builds_graph or not any(c.trains for c in self.facts.collectives.all.values()):
            return set()
        return {g for u in self.facts.sites.updates for g in u.gradients if self._is_plain(g)}

    def _is_plain(self, asked: ast.AST) -> bool:
        """Whether gradients are asked of a tape that doesn't average them."""
        if not isinstance(asked, ast.Call) or not isinstance(asked.func, ast.Attribute):
            return False
        made = self.module.values.calls(asked.func.value)
        return bool(made) and not any(self.facts.horovod.is_call(call, *TAPES) for call in made)
