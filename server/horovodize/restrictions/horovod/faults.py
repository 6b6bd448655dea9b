"""Every finding about scripts that use Horovod already, in the order of the codes."""

from __future__ import annotations

from functools import cache

from horovodize.restrictions.horovod import (
    averaged_twice,
    broadcast_every_step,
    compiled_by_xla,
    drifts_apart,
    elastic_state,
    gpu_by_rank,
    gpus_not_pinned,
    metrics_not_averaged,
    name_by_rank,
    not_averaged,
    not_broadcast,
    not_initialized,
    not_reloaded,
    on_some_ranks,
    other_binding,
    pinned_late,
    rate_not_scaled,
    same_batches,
    scaled_twice,
    schedule_not_divided,
    shuffled_apart,
    steered_by_one_rank,
    steps_not_divided,
    summed_and_scaled,
    touched_at_once,
    uneven_shards,
    waits_forever,
    warm_up_rate,
    written_by_all,
)
from horovodize.restrictions.restriction import Restriction


@cache
def faults_of_torch() -> tuple[Restriction, ...]:
    """Those of them that are looked for in files of `horovod.torch`, too."""
    modules = (
        not_initialized,
        gpu_by_rank,
        not_averaged,
        averaged_twice,
        not_broadcast,
        scaled_twice,
        on_some_ranks,
        written_by_all,
        name_by_rank,
        same_batches,
        uneven_shards,
        waits_forever,
        touched_at_once,
        drifts_apart,
    )
    return tuple(module.RESTRICTION for module in modules)


@cache
def every_fault() -> tuple[Restriction, ...]:
    modules = (
        not_initialized,
        gpu_by_rank,
        gpus_not_pinned,
        not_averaged,
        averaged_twice,
        not_broadcast,
        broadcast_every_step,
        rate_not_scaled,
        scaled_twice,
        warm_up_rate,
        steered_by_one_rank,
        metrics_not_averaged,
        on_some_ranks,
        written_by_all,
        other_binding,
        not_reloaded,
        summed_and_scaled,
        name_by_rank,
        shuffled_apart,
        same_batches,
        steps_not_divided,
        pinned_late,
        uneven_shards,
        elastic_state,
        schedule_not_divided,
        compiled_by_xla,
        waits_forever,
        touched_at_once,
        drifts_apart,
    )
    return tuple(module.RESTRICTION for module in modules)
