"""Which rules make up which pattern, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable

from horovodize.rules import head, learning_rate, schedule, unpin
from horovodize.rules.rule import Rule
from horovodize.summary.lattice import LoopKind

_BEFORE = (unpin.RULE,)
_AFTER = (learning_rate.RULE, schedule.RULE, head.RULE, head.PIN)
_PATTERNS: dict[LoopKind, tuple[Rule, ...]] = {
    LoopKind.KERAS: (),
    LoopKind.GRADIENT_TAPE: (),
}


def rules_for(kinds: Iterable[LoopKind]) -> list[Rule]:
    """The rules for a module with these loops, each once."""
    found = [*_BEFORE, *(rule for kind in sorted(kinds) for rule in _PATTERNS.get(kind, ())), *_AFTER]
    return list({rule.id: rule for rule in found}.values())


def every_rule() -> list[Rule]:
    """All rules, by id."""
    found = rules_for(_PATTERNS)
    return sorted(found, key=lambda rule: (rule.id[0], int(rule.id[1:])))
