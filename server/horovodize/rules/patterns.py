"""Which rules make up which pattern, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterable

from horovodize.rules import elastic
from horovodize.rules.beginning import head, session_config, unpin, xla
from horovodize.rules.callbacks import keras_callbacks, monitored_checkpoint, monitored_hooks, stop_hook
from horovodize.rules.counts import events
from horovodize.rules.drafting import own_statements
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.estimators import estimator
from horovodize.rules.loops import session_steps, steps
from horovodize.rules.output import downloads, root_rank, verbosity
from horovodize.rules.rates import learning_rate, schedule, scheduler_callback
from horovodize.rules.resuming import resume
from horovodize.rules.rows import arrays, data, seeds
from horovodize.rules.smoothing import moving_averages
from horovodize.rules.weights import broadcast, reload, session_broadcast
from horovodize.rules.wrapping import graph_optimizer, keras_optimizer, minimize, tape
from horovodize.summary.lattice import LoopKind

# What every pattern needs, before and after its own rules. The head comes last: it imports what the others used.
_BEFORE = (unpin.RULE,)
_AFTER = (
    data.RULE,
    arrays.RULE,
    steps.G4,
    seeds.RULE,
    downloads.RULE,
    verbosity.RULE,
    root_rank.RULE,
    resume.RULE,
    learning_rate.RULE,
    schedule.RULE,
    events.RULE,
    moving_averages.RULE,
    xla.RULE,
    elastic.RULE,
    head.RULE,
    head.PIN,
    own_statements.RULE,
)
_PATTERNS: dict[LoopKind, tuple[Rule, ...]] = {
    LoopKind.KERAS: (
        keras_optimizer.RULE,
        keras_optimizer.STRING,
        keras_callbacks.RULE,
        steps.K4,
        scheduler_callback.RULE,
        broadcast.TRAIN_ON_BATCH,
        tape.TRAIN_STEP,
        reload.RULE,
    ),
    LoopKind.GRADIENT_TAPE: (tape.RULE, minimize.RULE, broadcast.RULE),
    LoopKind.SESSION: (
        graph_optimizer.RULE,
        session_config.RULE,
        session_broadcast.RULE,
        monitored_checkpoint.RULE,
        session_steps.RULE,
    ),
    LoopKind.MONITORED_SESSION: (
        graph_optimizer.RULE,
        session_config.RULE,
        monitored_hooks.PLAIN_SESSIONS,
        monitored_hooks.RULE,
        stop_hook.RULE,
        monitored_checkpoint.RULE,
        session_steps.RULE,
    ),
    LoopKind.ESTIMATOR: (graph_optimizer.RULE, estimator.RULE, stop_hook.RULE),
}


def rules_for(kinds: Iterable[LoopKind]) -> list[Rule]:
    """The rules for a module with these loops, each once."""
    found = [*_BEFORE, *(rule for kind in sorted(kinds) for rule in _PATTERNS.get(kind, ())), *_AFTER]
    return list({rule.id: rule for rule in found}.values())


def every_rule() -> list[Rule]:
    """All rules, by id."""
    found = rules_for(_PATTERNS)
    return sorted(found, key=lambda rule: (rule.id[0], int(rule.id[1:])))
