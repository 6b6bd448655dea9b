"""What a hover says over a collective of a script that uses Horovod: what ranks exchange there, and who comes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from horovodize.documentation import page_address
from horovodize.explaining.markup import Markup
from horovodize.source import Span

if TYPE_CHECKING:
    from horovodize.explaining.view import View
    from horovodize.facts.horovod.collectives import Collective
    from horovodize.interleaving import Exploration

_EXCHANGED = {
    "allreduce": "Each rank gives a tensor, and all get the average (or what `op` says).",
    "grouped_allreduce": "Each rank gives tensors, and all get their averages (or what `op` says).",
    "allgather": "Each rank gives rows, and all get the rows of all ranks, one after another.",
    "grouped_allgather": "Each rank gives rows, and all get the rows of all ranks, one after another.",
    "allgather_object": "Each rank gives an object, and all get a list of them, by rank.",
    "alltoall": "Each rank gives each other rank a part of its rows.",
    "reducescatter": "Each rank gives a tensor, and gets its part of the average.",
    "grouped_reducescatter": "Each rank gives tensors, and gets its parts of the averages.",
    "broadcast": "All ranks get what the root gives.",
    "broadcast_object": "All ranks get the object that the root gives.",
    "broadcast_variables": "All ranks' variables get the values of the root's.",
    "broadcast_global_variables": "All ranks' variables get the values of the root's.",
    "BroadcastGlobalVariablesHook": "When the session begins, all ranks' variables get the values of the root's.",
    "DistributedGradientTape": "Where its gradients are computed, they are averaged over all ranks.",
    "PartialDistributedGradientTape": "Where its gradients are computed, they are averaged over all ranks, but some layers'.",
    "training": "In each step gradients are averaged over all ranks.",
}


def describe_collective(view: View, offset: int, markup: Markup) -> Span | None:
    """Says what the innermost collective around an offset of the whole does, and who takes part. The span that it is about;
    None where there is none."""
    from horovodize.facts import facts_of
    from horovodize.interleaving import Exploration
    from horovodize.summary import LoopKind

    summary = view.summary
    if summary.already is not LoopKind.HOROVOD or summary.module is None:
        return None
    facts, module = facts_of(summary), summary.module
    around = [(module.span(c.call), c) for c in facts.collectives.all.values()]
    around = [(span, c) for span, c in around if span.start <= offset <= span.end]
    if not around:
        return None
    span, collective = min(around, key=lambda found: found[0].end - found[0].start)
    markup.paragraph(f"Collective {collective.words}", strong=True)
    markup.paragraph(_EXCHANGED.get(collective.name, "All ranks take part."))
    _describe_reach(Exploration(facts), collective, markup)
    return span


def _describe_reach(exploration: Exploration, collective: Collective, markup: Markup) -> None:
    """Which ranks come there, as far as it is followed."""
    from horovodize.interleaving import Trouble

    ranks, of = exploration.who_comes(collective.call)
    if ranks:
        named = "All ranks come here" if len(ranks) == of else f"Of {of} ranks, {_listed(ranks)} here"
        markup.paragraph(f"{named}, and each waits until all of them are in it.")
    if any(m.where is collective.call for v in exploration.verdicts(Trouble.STALL) for m in v.moments):
        page = page_address("HVD331")
        markup.linked_bullets(
            [("HVD331: a rank may wait here forever, for one that never comes.", page, "Why")]
        )


def _listed(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"only rank {ranks[0]} comes"
    return "ranks " + ", ".join(map(str, ranks[:-1])) + f" and {ranks[-1]} come"
