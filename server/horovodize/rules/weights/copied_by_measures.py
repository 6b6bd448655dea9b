"""Weights and rates that one of several networks gets from another, by what each rank has measured of them: part of G2.

    ranked = sorted(population, key=lambda member: member.loss)
    ranked[-1].model.set_weights(ranked[0].model.get_weights())

A rank measures its own rows. Where the best of them is another member than on the other ranks, the ranks' networks differ from
there on, each by itself. Which measure of all ranks is meant, a mean of the last loss or of its average, isn't seen: it is
asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import argument, arguments
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together.any_rank_test import differing
from horovodize.rules.weights.target_networks import ASSIGNS
from horovodize.source.nodes import walk

_WHAT = "Let all ranks choose the same network"
_WHY = (
    "Each rank measures its own rows; copied by that, the networks of the ranks would differ from there on."
)
_OWN = (
    "which network's weights or rate go where is decided here by what each rank measures of its own rows, and the ranks' "
    "networks would differ from there on: compare the means over all ranks (`hvd.allreduce`)"
)
_BY_KEY = ("sorted", "min", "max", "sort", "nsmallest", "nlargest")
_PLACES = ("argmin", "argmax", "argsort")
_SETTING = ("set_weights", *ASSIGNS)
_FAR = 300  # nodes that are looked at behind what is set


def ask(draft: Draft) -> None:
    """Asks of each choice once, where weights are set by it."""
    if draft.in_graph or not draft.sites.updates:
        return
    picks = [c for c in draft.module.calls_called(*_BY_KEY, *_PLACES) if _picks_by_rows(draft, c)]
    for call in draft.sites.method_calls(*_SETTING) if picks else ():
        assert isinstance(call.func, ast.Attribute)
        made_of = set(draft.values.depends([call.func.value, *arguments(call)], _FAR))
        if any(draft.was(n, Agreed) for n in made_of):
            continue
        for pick in picks:
            if _is_behind(draft, pick, made_of) and draft.once("copied by a measure", pick):
                draft.ask("G2", call, _WHAT, _WHY, _OWN)


def _picks_by_rows(draft: Draft, call: ast.Call) -> bool:
    """Whether a call in a loop picks or orders things by what each rank has measured of its own rows."""
    if not draft.syntax.loops(call):
        return False
    return any(
        isinstance(r, Varies) and r.kind is Source.ROWS
        for measure in _measures(draft, call)
        for r in differing(draft, measure)
    )


def _measures(draft: Draft, call: ast.Call) -> Iterator[ast.expr]:
    """By what a call picks: the numbers that it compares, or what its key reads of each thing."""
    if draft.names.last(call.func) in _PLACES:
        yield from call.args[:1]
        return
    key = argument(call, "key")
    if isinstance(key, ast.Lambda):
        read = [n.attr for n in walk(key.body) if isinstance(n, ast.Attribute)]
    elif isinstance(key, ast.Call) and draft.names.last(key.func) == "attrgetter":
        read = [a.value for a in key.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    else:
        return
    for attribute in read:
        yield from (b.value for b in draft.module.scopes.attributes.get(attribute, ()) if b.value is not None)


def _is_behind(draft: Draft, pick: ast.Call, made_of: set[ast.AST]) -> bool:
    """Whether what is set is picked so: `ranked[0]`, `population[np.argmin(losses)]`, `population[0]` once that is sorted."""
    if draft.names.last(pick.func) in _PLACES:
        return pick in made_of and any(
            isinstance(n, ast.Subscript) and pick in set(draft.values.depends([n.slice], _FAR))
            for n in made_of
        )
    if draft.names.last(pick.func) != "sort":
        return pick in made_of
    held = ast.unparse(pick.func.value) if isinstance(pick.func, ast.Attribute) else ""
    return any(isinstance(n, ast.Subscript) and ast.unparse(n.value) == held for n in made_of)


__all__ = ["ask"]
