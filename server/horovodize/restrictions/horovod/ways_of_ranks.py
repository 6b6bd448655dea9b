"""What HVD331, HVD332 and HVD333 share: what ranks do, one beside the other, found out once for a file."""

from __future__ import annotations

import ast

from horovodize.interleaving import Exploration, Trouble, Verdict
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Related

_MOST = 10  # steps of a way that are shown
_MEMO = "interleaving"


def troubles(context: Context, trouble: Trouble) -> list[Verdict]:
    """What of a kind may go wrong when several ranks run the script."""
    if not context.facts.horovod.starts and not any(c.trains for c in context.facts.collectives.all.values()):
        return []
    if _MEMO not in context.memo:
        context.memo[_MEMO] = Exploration(context.facts)
    exploration = context.memo[_MEMO]
    assert isinstance(exploration, Exploration)
    return exploration.verdicts(trouble)


def as_related(context: Context, verdict: Verdict) -> list[Related]:
    """The way there, step by step: "rank 1: leaves the loop"."""
    shown = [m for m in dict.fromkeys(verdict.moments) if not isinstance(m.where, ast.Pass)][-_MOST:]
    return [context.related(m.where, f"rank {m.rank}: {m.what}") for m in shown]
