"""Rows that operations of a graph draw by a seed: part of D3.

`tf.set_random_seed(1)` gives `tf.random_uniform` the same numbers on every rank. Where a step draws its rows so, and is fed
none, each rank gets a seed of its own; weights that are drawn by it are sent by rank 0 before training."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.facts.feeds.steps import Feed
from horovodize.python.syntax import argument, says_none
from horovodize.rules.beginning import graph_queues
from horovodize.rules.drafting.decisions import Apart
from horovodize.rules.drafting.draft import RANK, Draft, needs_parentheses
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.rows.seeds_apart import WHAT, WHY, is_zero
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.summary.feeding import Driver

_GRAPH = ("tensorflow.compat.v1.set_random_seed", "tensorflow.compat.v1.random.set_random_seed")
_MAKING = ("Variable", "get_variable", "dense", "Dense")  # what draws its own weights
_LIMIT = 2000


def apply(draft: Draft, driver: Driver) -> None:
    """Tells the seeds apart by which the steps of a loop draw their rows."""
    if not draft.in_graph or feeding(draft).graph_feeds:
        return
    for step in driver.steps:
        if (
            strong.scaling(draft, step) is not strong.Scaling.WEAK
            or argument(step, "feed_dict", 1) is not None
            and draft.facts.steps.of(step).feed is not Feed.DRAW  # fed with a number of the step alone
        ):
            continue
        made_of = draft.values.depends(step.args[:1], _LIMIT)
        drawn = [n for n in made_of if isinstance(n, ast.Call) and draws_rows(draft, n)]
        seeds = [s for call in drawn if (s := own_seed(call)) is not None]
        if drawn and not seeds:
            seeds = of_graphs(draft)
        for seed in seeds:
            tell_apart(draft, seed)


def tell_queues_apart(draft: Draft, queues: Sequence[ast.Call]) -> None:
    """Tells apart the seeds by which queues shuffle: their own, or the graph's."""
    trained_on = graph_queues.trained_on(draft, queues)
    own = [seed for queue in trained_on if (seed := graph_queues.seed(draft, queue)) is not None]
    for seed in (s for s in own if is_number(draft, s)):
        tell_apart(draft, seed)
    for seed in of_graphs(draft) if len(own) < len(queues) else ():
        tell_apart(draft, seed)


def is_number(draft: Draft, seed: ast.expr) -> bool:
    """Whether a seed is surely a number, and not None."""
    made = [o.node for o in draft.values.origins(seed) if not o.path]
    return bool(made) and all(isinstance(n, ast.Constant) and isinstance(n.value, int) for n in made)


def of_graphs(draft: Draft) -> list[ast.expr]:
    return [call.args[0] for call in draft.module.calls_of(*_GRAPH) if len(call.args) == 1]


def draws_rows(draft: Draft, call: ast.Call) -> bool:
    """Whether an operation draws numbers that no variable begins with."""
    name = draft.names.of(call.func) or ""
    if not name.startswith("tensorflow.") or not draft.uniform.draws.is_drawn(name):
        return False
    around = (a for a in draft.syntax.ancestors(call) if isinstance(a, ast.Call))
    return not any(draft.names.last(a.func) in _MAKING and not _is_input(draft, call, a) for a in around)


def _is_input(draft: Draft, call: ast.Call, layer: ast.Call) -> bool:
    """Whether something is what a layer is called on: `tf.layers.dense(noise, 10)`."""
    inputs = argument(layer, "inputs", 0) if draft.names.last(layer.func) == "dense" else None
    return inputs is not None and draft.syntax.inside(call, inputs)


def own_seed(call: ast.Call) -> ast.expr | None:
    given = argument(call, "seed")
    return None if says_none(given) else given


def tell_apart(draft: Draft, seed: ast.expr) -> None:
    if not draft.decide(seed, Apart("D3")):
        return
    span = draft.module.span(seed)
    opening, closing = ("(", ")") if needs_parentheses(seed) else ("", "")
    own = (Edit(span, RANK),) if is_zero(seed) else Edit.around(span, opening, f"{closing} + {RANK}")
    draft.change("D3", seed, WHAT, WHY, own)
