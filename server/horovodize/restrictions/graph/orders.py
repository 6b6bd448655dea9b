"""Every finding about graphs, in the order of the codes."""

from __future__ import annotations

from functools import cache

from horovodize.restrictions.graph import (
    assigned_in_no_order,
    py_function_with_state,
    read_while_assigned,
    trained_and_assigned,
    updates_not_run,
)
from horovodize.restrictions.restriction import Restriction


@cache
def every_order() -> tuple[Restriction, ...]:
    modules = (
        assigned_in_no_order,
        read_while_assigned,
        updates_not_run,
        trained_and_assigned,
        py_function_with_state,
    )
    return tuple(module.RESTRICTION for module in modules)
