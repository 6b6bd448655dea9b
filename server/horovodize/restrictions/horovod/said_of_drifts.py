"""What a finding of weights or rates that part says, and where it is shown (a part of HVD333)."""

from __future__ import annotations

import ast

from horovodize.interleaving import Verdict
from horovodize.interleaving.applied_steps import WEIGHTS_BY_STEP
from horovodize.interleaving.changes import VARIABLE_OF_LOSS


def where(drift: Verdict) -> ast.AST:
    """Where it is shown: a step that only some take at the test by which they do."""
    return drift.moments[0].where if drift.detail == WEIGHTS_BY_STEP else drift.where


def said(drift: Verdict) -> str:
    changing = [m.rank for m in drift.moments if m.where is drift.where]
    if drift.detail == WEIGHTS_BY_STEP:
        return (
            f"rank {changing[0]} applies the averaged gradients, and another rank may leave them out, so that their weights "
            "differ: let all decide alike, by an average (`hvd.allreduce`)"
        )
    if len(changing) > 1 and drift.detail == "weights":
        return "each rank sets weights of its own here: broadcast rank 0's after it, or let all set the same"
    if len(changing) > 1 and drift.detail == VARIABLE_OF_LOSS:
        return "each rank sets this to a draw of its own, which its losses are made with: broadcast rank 0's after it"
    if len(changing) > 1:
        return f"each rank changes the {drift.detail} here by a value of its own: exchange it first, by `hvd.allreduce`"
    return (
        f"rank {changing[0]} changes the {drift.detail} here, and another rank trains on as before: "
        + ("" if drift.detail.startswith("set ") else "send them to all ranks, or ")
        + "let all decide alike"
    )


__all__ = ["said", "where"]
