"""The calls by which a place that trains on batches sees all rows instead: `step(x, y)` beside `step(x[rows], y[rows])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.contexts import Context
from horovodize.facts.feeds.steps import Feed, Steps
from horovodize.facts.feeds.turns import Turns
from horovodize.python.syntax import argument


def whole_ways(steps: Steps, site: ast.Call) -> list[ast.Call]:
    """The calls that give a step the same rows in each turn of a loop, where others give it another batch. None of a step that
    is reached in one way, or that `fit` takes."""
    if len(steps.drive.ways(site)) < 2 or steps.of(site).feed not in (Feed.BATCH, Feed.DRAW):
        return []
    ways = list(_by_way(steps, site))
    batches = [(c, t) for c, t in ways if t.moving or t.drawn or t.played]
    led = {c.call for context, _ in batches for c in context.around()}
    known = {e for _, turns in batches for e in (*turns.rows, *turns.unseen)}
    found = dict[ast.Call, None]()
    for context, turns in ways if batches else ():
        if (
            turns.moving
            or turns.drawn
            or turns.played
            or not known.issuperset(_given_unseen(steps, context, turns))
        ):
            continue
        if not known.issuperset(turns.rows) and any(c.loops for c in context.around()):
            own = [c.call for c in context.around() if c.call is not None and c.call not in led]
            found.update(dict.fromkeys(own[:1]))
    return list(found)


def _given_unseen(steps: Steps, context: Context, turns: Turns) -> list[ast.AST]:
    """What can't be seen of what a step is given; not what a model makes of its rows, in functions of its own."""
    functions = {c.function for c in context.around()}
    return [e for e in turns.unseen if steps.module.syntax.function(e) in functions]


def _by_way(steps: Steps, site: ast.Call) -> Iterator[tuple[Context, Turns]]:
    """The ways in which a step is reached, each with what it is made of there."""
    read = dict[Context, Turns]()
    for e, context in _given(steps, site):
        if context not in read:
            read[context] = steps.turns()
        read[context].read(e, context)
    yield from read.items()


def _given(steps: Steps, site: ast.Call) -> Iterator[tuple[ast.expr, Context]]:
    update = steps.sites.update_of(site)
    if update is not None:
        yield from steps.losses.of_update(update)
    elif isinstance(site.func, ast.Attribute) and site.func.attr == "train_on_batch":
        parts = (argument(site, "x", 0), argument(site, "y", 1))
        for context in steps.losses.contexts(site, steps.losses.made_in(site.func.value)):
            yield from ((e, context) for e in parts if e is not None)
