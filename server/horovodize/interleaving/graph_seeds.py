"""Whether a script seeds what TensorFlow draws, alike on all ranks, by whatever function: then nothing is said of its draws."""

from __future__ import annotations

from horovodize.facts.facts import Facts

_SEEDING = ("set_seed", "set_random_seed", "set_global_seed", "set_global_seeds", "seed_everything")
_RANKS = ("rank", "local_rank", "cross_rank")


def seeds_alike(facts: Facts) -> bool:
    return any(
        c.args and not any(facts.horovod.depends_on(e, *_RANKS) for e in c.args)
        for c in facts.module.calls_called(*_SEEDING)
    )
