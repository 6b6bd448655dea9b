"""Which rules make up which pattern, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable

from horovodize.rules import broadcast, head, keras_callbacks, keras_optimizer, learning_rate, minimize, reload, schedule, scheduler_callback, tape, unpin
from horovodize.rules.rule import Rule
from horovodize.summary.lattice import LoopKind

_BEFORE = (unpin.RULE,)
_AFTER = (learning_rate.RULE, schedule.RULE, head.RULE, head.PIN)
_PATTERNS: dict[LoopKind, tuple[Rule, ...]] = {
    LoopKind.KERAS: (keras_optimizer.RULE, keras_optimizer.STRING, keras_callbacks.RULE, scheduler_callback.RULE, broadcast.TRAIN_ON_BATCH, tape.TRAIN_STEP, reload.RULE),
    LoopKind.GRADIENT_TAPE: (tape.RULE, minimize.RULE, broadcast.RULE),
}


def rules_for(kinds: Iterable[LoopKind]) -> list[Rule]:
    """The rules for a module with these loops, each once."""
    found = [*_BEFORE, *(rule for kind in sorted(kinds) for rule in _PATTERNS.get(kind, ())), *_AFTER]
    return list({rule.id: rule for rule in found}.values())


def every_rule() -> list[Rule]:
    """All rules, by id."""
    found = rules_for(_PATTERNS)
    return sorted(found, key=lambda rule: (rule.id[0], int(rule.id[1:])))
