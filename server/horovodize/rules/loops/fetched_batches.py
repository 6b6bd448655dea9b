"""Batches that a function or an object of the program fetches from a data set of the graph, part of S5: they are a rank's own
once the data set is divided; dealt out as well, each rank would take a part of its part.

    def batches(session):
        session.run(iterator.initializer)
        while True:
            yield session.run(following)  # following = iterator.get_next()
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.loops import preparing
from horovodize.rules.numbers.shares import feeding
from horovodize.source.nodes import walk

_DEPTH = 400  # nodes that an iterator is made of


def are_divided(draft: Draft, batches: ast.expr) -> bool:
    """Whether a loop goes through what runs of a session fetch from a data set that is divided already."""
    if not draft.in_graph:
        return False
    known = feeding(draft)
    feeds = {f for f in known.graph_feeds if any(draft.was(p, Shared) for p in known.pipelines.trail(f))}
    runs = set(draft.sites.graph.all_runs) if feeds else set[ast.Call]()
    todo, seen = list(preparing.givers(draft, batches)) if feeds else [], set[ast.AST]()
    while todo:
        function = todo.pop()
        if function in seen or not isinstance(function, FUNCTIONS):
            continue
        seen.add(function)
        calls = [n for s in function.body for n in walk(s) if isinstance(n, ast.Call)]
        if any(call in runs and _fetches(draft, call, feeds) for call in calls):
            return True
        todo += [callee for call in calls if (callee := draft.values.callee(call)) is not None]
    return False


def _fetches(draft: Draft, run: ast.Call, feeds: set[ast.expr]) -> bool:
    """Whether a run fetches what comes next of one of the data sets."""
    graph = draft.sites.graph
    following = [
        n
        for n in graph.operations(graph.fetches(run))
        if isinstance(n, ast.Call) and draft.names.last(n.func) == "get_next"
    ]
    return any(feeds.intersection(draft.values.depends([n], _DEPTH)) for n in following)
