"""Sending rank 0's variables in a graph: the statement that does it. Part of S4.

A graph takes no operations once it is finalised, and an operation belongs to one graph: the broadcast is built in the
session's graph, before it is finalised.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, Loop, argument, end, position, says_none
from horovodize.rules.drafting.draft import CORE, Draft
from horovodize.rules.drafting.session_names import Session, has_own_graph, in_caller, is_elsewhere
from horovodize.rules.weights.statistics import may_have_statistics
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame
from horovodize.summary.graph import Run, made_default

_BROADCAST = f"{CORE}.broadcast_global_variables(root_rank=0)"
_AVERAGES = ("batch_norm", "UPDATE_OPS", "assign_moving_average", "ExponentialMovingAverage")
_COMMENT = "Horovod: rank 0's batch-norm statistics, not averaged."
_WHAT = "Take rank 0's batch-norm statistics on every rank"
_WHY = "They are not averaged and drift apart; evaluating and saving then use the same on every rank."


def send_after(
    draft: Draft, statement: ast.stmt, run: Run, session: str | None, comment: str = ""
) -> list[Edit]:
    """The edits that send rank 0's variables after a statement, or first in a `with` that opens the session of `run`. Refuses
    where the graph may be finalised by then.

    run: what is run in that session elsewhere; session: what it is called after the statement (None: the default one)"""
    built, edits = _operation(draft, statement, run)
    lines = [f"{session}.run({built})" if session is not None else f"{built}.run()"]
    if session is not None and built == _BROADCAST and has_own_graph(draft, run, statement):
        lines = [f"with {session}.graph.as_default():", *(f"    {line}" for line in lines)]
    elif session is None and built == _BROADCAST and (opened := _default_elsewhere(draft, statement)):
        default = f"{draft.v1(opened.func)}.get_default_session()"
        lines = [f"with {default}.graph.as_default():", *(f"    {line}" for line in lines)]
    if opens(draft, statement, run.call):
        assert isinstance(statement, ast.With)
        return [*edits, draft.before(statement.body[0], draft.lines_of(*lines, comment=comment))]
    return [*edits, *draft.put_after(statement, draft.lines_of(*lines, comment=comment), level=-1)]


def opens(draft: Draft, statement: ast.stmt, ready: ast.AST) -> bool:
    """`with supervisor.managed_session() as session:`, where that makes the variables ready."""
    return isinstance(statement, ast.With) and any(
        draft.syntax.inside(ready, item.context_expr) or item.context_expr is ready
        for item in statement.items
    )


def _operation(draft: Draft, statement: ast.stmt, run: Run) -> tuple[str, list[Edit]]:
    """The broadcast as it is run after a statement, and what builds it earlier if the graph is finalised before."""
    syntax = draft.syntax
    for call in _finalising(draft, run):
        finalised = syntax.statement(call)
        owner = _kept_by(draft, finalised, statement)
        if syntax.function(finalised) is syntax.function(statement) or owner:
            if position(finalised) > position(statement) and not owner:
                continue
            before = finalised is statement or end(finalised) <= position(statement)
            if (before or owner) and draft.can_insert(finalised):
                name = owner + draft.same_name("broadcast")
                built, graph = f"{name} = {_BROADCAST}", argument(call, "graph", 0)
                lines = [built]
                if graph is not None and not says_none(graph):
                    lines = [f"with {draft.module.text(graph)}.as_default():", f"    {built}"]
                return name, [draft.before(finalised, lines)] if draft.once("built", finalised) else []
        draft.refuse(
            "HVD006",
            call,
            "this finalises the graph before the broadcast is part of it, so ranks would start from different "
            "variables; finalise it later",
        )
    return _BROADCAST, []


def _kept_by(draft: Draft, finalised: ast.stmt, statement: ast.stmt) -> str:
    """`self.` where a method keeps its Supervisor in a field (`self.supervisor = …`), which methods of the same object use;
    nothing else."""
    syntax = draft.syntax
    targets = finalised.targets if isinstance(finalised, ast.Assign) else []
    made, used = syntax.function(finalised), syntax.function(statement)
    if not isinstance(made, FUNCTIONS) or not isinstance(used, FUNCTIONS) or not made.args.args:
        return ""
    if (
        syntax.method_class(made) is None
        or syntax.method_class(made) is not syntax.method_class(used)
        or [a.arg for a in made.args.args[:1]] != [a.arg for a in used.args.args[:1]]
    ):
        return ""
    owner = made.args.args[0].arg
    kept = any(isinstance(t, ast.Attribute) and ast.unparse(t.value) == owner for t in targets)
    return f"{owner}." if kept else ""


def _finalising(draft: Draft, run: Run) -> Iterator[ast.Call]:
    """What makes the graph of a session take no more operations: `graph.finalize()`, a Supervisor that is made for it."""
    opened = draft.sites.graph.opened(run.session) if run.session is not None else set()
    by = [c.func.value for c in opened & set(draft.sites.supervised) if isinstance(c.func, ast.Attribute)]
    made = {c for supervisor in by for c in draft.values.calls(supervisor)}
    yield from (c for c in draft.sites.supervisors if c in made)
    for supervisor in by if not made & set(draft.sites.supervisors) else ():
        draft.refuse(
            "HVD006",
            supervisor,
            "where this Supervisor is made, which finalises the graph, can't be followed, so rank 0's variables can't be "
            "sent in it; make it in this file",
        )
    for call in draft.sites.method_calls("finalize"):
        statement = draft.syntax.statement(call)
        if not call.args and not call.keywords and isinstance(statement, ast.Expr):
            yield call


def _default_elsewhere(draft: Draft, statement: ast.stmt) -> ast.Call | None:
    """Where the session is opened that a caller makes the default one, `with session.as_default(): start()`, but not its
    graph."""
    for way in draft.drive.ways(statement):
        for frame in way[1:]:
            session = draft.sites.graph.default_session(frame.node)
            for call in draft.sites.graph.opened(session) if session is not None else ():
                if is_elsewhere(draft, call, draft.syntax.statement(frame.node)):
                    return call
    return None


# ---------------------------------------------------------------------- batch-norm statistics


def after_session_loops(draft: Draft, trainings: list[Run]) -> None:
    """Broadcasts a graph's variables after the outermost loop that runs training steps in one session."""
    if not _keeps_averages(draft):
        return
    for run in trainings:
        for way in draft.drive.ways(run.call):
            found = _outermost(draft, run, way)
            if found is None:
                draft.note("S4", run.call, "every rank keeps batch-norm statistics of its own after this")
                continue
            loop, session = found
            if draft.once("statistics", loop):
                edits = send_after(draft, loop, run, session.text(draft), _COMMENT)
                draft.change("S4", loop, _WHAT, _WHY, edits)


def _keeps_averages(draft: Draft) -> bool:
    """Whether a graph keeps moving averages of what its batches are like."""
    return may_have_statistics(draft) or any(
        isinstance(n, (ast.Name, ast.Attribute))
        and draft.names.last(n) in _AVERAGES
        and not _averages_weights(draft, n)
        for n in draft.syntax.nodes
    )


def _averages_weights(draft: Draft, name: ast.Name | ast.Attribute) -> bool:
    """Whether it makes a moving average of what is trained alone, which is the same on all ranks: `average.apply(weights)`."""
    made = draft.syntax.parent.get(name)
    if draft.names.last(name) != "ExponentialMovingAverage" or not isinstance(made, ast.Call):
        return False
    applies = [
        c
        for c in draft.sites.method_calls("apply")
        if isinstance(c.func, ast.Attribute) and made in draft.values.calls(c.func.value)
    ]
    given = [e for c in applies if (e := argument(c, "var_list", 0)) is not None]
    weights = (draft.values.calls(e) for e in given)
    return bool(applies) and all(
        made_by and all(draft.names.last(c.func) == "trainable_variables" for c in made_by)
        for made_by in weights
    )


def _outermost(draft: Draft, run: Run, way: tuple[Frame, ...]) -> tuple[Loop, Session] | None:
    """The outermost loop on a way to a step during which the session stays open, and what it is called there."""
    found: tuple[Loop, Session] | None = None
    session: Session | None = Session(run.session)
    for i, frame in enumerate(way):
        if i and session is not None:
            session = in_caller(draft, session, way[i - 1].function, frame.node)
        if session is None:
            break
        for loop in frame.loops:
            if _is_opened_in(draft, session, frame.node, loop):
                return found
            if draft.can_insert(loop):
                found = loop, session
        if _is_opened_in(draft, session, frame.node, frame.function):
            break
    return found


def _is_opened_in(draft: Draft, session: Session, node: ast.AST, around: ast.AST | None) -> bool:
    """Whether a session is opened inside what stands around a node (a loop, a function; None: the module)."""
    syntax = draft.syntax
    if session.base is None:
        for a in syntax.ancestors(node):
            if a is around:
                return False
            if isinstance(a, ast.With) and any(_opens(draft, item.context_expr) for item in a.items):
                return True
        return False
    if around is None or isinstance(around, FUNCTIONS):
        return False
    opened = draft.sites.graph.opened(session.base)
    return any(syntax.inside(c, around) for c in opened) or any(
        isinstance(n, ast.Name)
        and any(syntax.inside(b.statement, around) for b in draft.module.scopes.reaching(n))
        for n in ast.walk(session.base)
    )


def _opens(draft: Draft, context: ast.expr) -> bool:
    """`with tf.Session():`, `with sess.as_default():`"""
    if draft.sites.graph.opened(context):
        return True
    session = made_default(context)
    return session is not None and draft.sites.graph.is_session(session)
