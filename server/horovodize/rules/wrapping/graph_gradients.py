"""What of a graph is made of gradients: `compute_gradients`, `tf.gradients`."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

_TAKING = ("compute_gradients", "gradients")


def is_gradient(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is made of gradients of a graph, which are averaged where they are taken or applied: variables that
    gather them go on by as much as alone."""
    if not draft.in_graph:
        return False
    return bool(draft.sites.flow.flow_from(e, lambda call: draft.names.last(call.func) in _TAKING))


__all__ = ["is_gradient"]
