"""Which reads of a session give rank 0's variables: those right after all variables were sent.

`sess.run(hvd.broadcast_global_variables(0))`, then `start = epoch.eval(sess)`: whatever each rank has restored, all read the
same number. What a session runs in between may set the variable again, on each rank by itself.
"""

from __future__ import annotations

import ast

from horovodize.python.names import Names
from horovodize.python.syntax import FUNCTIONS, Syntax
from horovodize.summary.call_paths import Drive
from horovodize.summary.graph import Graph, made_default
from horovodize.summary.sites import Sites

_GRAPHS = ("tensorflow.Graph", "tensorflow.compat.v1.Graph")


def sendings(syntax: Syntax, sites: Sites) -> list[ast.stmt]:
    """The statements by which a session sends all variables of its graph from rank 0."""
    graph, built = sites.graph, set[ast.AST](sites.method_calls("broadcast_global_variables"))
    named = {syntax.statement(c) for c in built if isinstance(syntax.parent.get(c), ast.Assign)}
    runs = graph.all_runs if named else []
    by_name = [c for c in runs if not built.isdisjoint(graph.operations(graph.fetches(c)))]
    return [s for c in (*built, *by_name) if (s := syntax.statement(c)) not in named]


def follows(
    syntax: Syntax, sites: Sites, drive: Drive, block: list[ast.stmt], at: int, read: ast.Call
) -> bool:
    """Whether a read of variables comes after a statement that sends them, or sets them as it will, on all ways to it, and
    nothing runs in a session in between. A loop that does not hold both runs something before its next turn.

    block, at: where that statement is; -1: before the block's first"""
    graph = sites.graph
    runs = set[ast.AST](graph.all_runs)
    runs.update(r.call for r in graph.runs)  # a restore, too, sets variables
    runs.update(sites.method_calls("load"))  # `variable.load(value, session)`
    runs.discard(read)
    opened = _opened(syntax, graph, read)
    others = [c for c in graph.sessions if not _has_own_graph(syntax, graph.module.names, c)]
    if len(opened) != 1 or not opened.issuperset(others):
        return False
    for way in drive.ways(read):
        for frame in way:
            if any(not syntax.inside(block[max(at, 0)], loop) for loop in frame.loops):
                return False
            met, is_clear = _clear_above(syntax, drive, block, at, frame.node, runs)
            if not is_clear:
                return False
            if met:
                break
        else:
            return False
    return True


def _opened(syntax: Syntax, graph: Graph, read: ast.Call) -> set[ast.Call]:
    """Where the session of a read is opened: also by the `with` around it, `with tf.Session(): step.eval()`."""
    session = graph.session_of(read)
    if session is not None:
        return graph.opened(session)
    for a in syntax.ancestors(read):
        if isinstance(a, FUNCTIONS):
            break
        for item in reversed(a.items) if isinstance(a, ast.With) else ():
            e = item.context_expr
            if graph.opened(e) == {e}:
                return graph.opened(e)
            chosen = made_default(e)
            if chosen is not None and graph.is_session(chosen):
                return set()
    return set()


def _has_own_graph(syntax: Syntax, names: Names, made: ast.AST) -> bool:
    """`with tf.Graph().as_default(), tf.Session() as waiting:`, or a session that is made within such a block: no variable of
    the program is in that graph."""
    below: ast.AST = made
    for a in syntax.ancestors(made):
        if isinstance(a, FUNCTIONS):
            break
        if isinstance(a, ast.With):
            own = a.items.index(below) if isinstance(below, ast.withitem) else len(a.items)
            graphs = [g for item in a.items[:own] if (g := made_default(item.context_expr)) is not None]
            if graphs:  # the last one is the default
                return isinstance(graphs[-1], ast.Call) and names.of(graphs[-1].func) in _GRAPHS
        below = a
    return False


def _clear_above(
    syntax: Syntax, drive: Drive, block: list[ast.stmt], at: int, node: ast.AST, runs: set[ast.AST]
) -> tuple[bool, bool]:
    """(whether a block is met above a node, in its function; whether nothing runs before the node since then)"""
    for statement in (a for a in (node, *syntax.ancestors(node)) if isinstance(a, (ast.stmt, *FUNCTIONS))):
        if isinstance(statement, FUNCTIONS):
            break
        before, met = syntax.block(statement), statement in block
        if met and block.index(statement) <= at:
            return True, False
        earlier = before[at + 1 if met else 0 : before.index(statement)]
        if any(drive.reaches(s, runs) for s in earlier):
            return met, False
        if met:
            return True, True
    return False, True
