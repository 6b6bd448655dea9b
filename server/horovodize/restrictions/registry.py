"""Every restriction, in the order of the codes: those of scripts that are to be distributed, those of scripts that are, and
those of graphs, which any script may have."""

from __future__ import annotations

from functools import cache

from horovodize.restrictions import (
    aliased_checkpoint,
    aliased_member,
    aliased_optimizer,
    buried_update,
    changed_global,
    conditional_loop,
    conditional_optimizer,
    estimator_gone,
    function_value,
    late_import,
    module_by_call,
    not_distributed,
    other_keras,
    printed_effect,
    reassigned_optimizer,
    several_loops,
    split_loop,
    unknown_code,
    unreadable,
    unsupported_loop,
)
from horovodize.restrictions.graph.orders import every_order
from horovodize.restrictions.horovod.faults import every_fault
from horovodize.restrictions.restriction import Restriction


@cache
def every_restriction() -> tuple[Restriction, ...]:
    return tuple(sorted((*restrictions(), *every_fault(), *every_order()), key=lambda r: r.code))


@cache
def restrictions() -> tuple[Restriction, ...]:
    """What a script must keep to be distributed."""
    modules = (
        not_distributed,
        unreadable,
        unknown_code,
        late_import,
        module_by_call,
        aliased_member,
        printed_effect,
        aliased_optimizer,
        reassigned_optimizer,
        conditional_optimizer,
        buried_update,
        changed_global,
        aliased_checkpoint,
        split_loop,
        unsupported_loop,
        several_loops,
        function_value,
        conditional_loop,
        estimator_gone,
        other_keras,
    )
    return tuple(sorted((module.RESTRICTION for module in modules), key=lambda r: r.code))
