"""How rank 0 tells a value: the text around an expression that gives every rank what it is on rank 0.

In a graph that takes a session. One that is open there, as the value is read from it, needs no helper that opens another.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.drafting.session_names import Session, has_own_graph, in_caller
from horovodize.summary.graph import Run

_PLAIN = ("Session", "InteractiveSession")


def around(draft: Draft, e: ast.expr) -> tuple[str, str]:
    """What stands before an expression and after it. All ranks have to come to it."""
    session = _session(draft, e) if draft.in_graph and "from_root" not in draft.helpers else None
    if session is None:
        return f"{from_root(draft)}(", ")"
    return f"{CORE}.broadcast_object(", f", session={session}, name={draft.quoted('value')})"


def _session(draft: Draft, e: ast.expr) -> str | None:
    """What a session is called that an expression reads a value from, by itself or in a function that restores variables. None
    in a loop, where the graph would grow with each turn, and where the graph is finalised, or is not the default one."""
    graph = draft.sites.graph
    if draft.sites.method_calls("finalize") or any(f.loops for way in draft.drive.ways(e) for f in way):
        return None
    inside = [n for n in ast.walk(e) if isinstance(n, ast.Call)]
    runs = [Run(c, "restore", graph.session_of(c)) for c in graph.all_runs if c in inside]
    callee = draft.values.callee(e) if isinstance(e, ast.Call) else None
    if callee is not None:
        runs += [r for r in graph.runs if r.kind == "restore" and draft.syntax.function(r.call) is callee]
    for run in runs:
        opened = graph.opened(run.session) if run.session is not None else set()
        plain = all(draft.names.last(c.func) in _PLAIN for c in opened)
        if not opened or not plain or has_own_graph(draft, run, draft.syntax.statement(e)):
            return None
        function = callee if run.call not in inside and isinstance(callee, FUNCTIONS) else None
        found = in_caller(draft, Session(run.session), function, e)
        if found is not None:
            return found.text(draft)
    return None
