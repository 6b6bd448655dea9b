"""Sending rank 0's variables in a graph: the statement that does it, and what its session is called there. Part of S4.

A graph takes no operations once it is finalised, and an operation belongs to one graph: the broadcast is built in the
session's graph, before it is finalised.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.rules.draft import CORE, Draft
from horovodize.rules.statistics import may_have_statistics
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame
from horovodize.summary.graph import Run, made_default
from horovodize.summary.syntax import FUNCTIONS, Function, Loop, argument, end, position

_BROADCAST = f"{CORE}.broadcast_global_variables(root_rank=0)"
_AVERAGES = ("batch_norm", "UPDATE_OPS", "assign_moving_average", "ExponentialMovingAverage")
_COMMENT = "Horovod: batch-norm statistics are not averaged; all ranks go on with rank 0's."
_WHAT = "Take rank 0's batch-norm statistics on every rank"
_WHY = "They are not averaged and drift apart; evaluating and saving then use the same on every rank."


@dataclass(frozen=True)
class Session:
    """What a session is called somewhere: `base` and what follows it (`model`, `.sess`). base None: the default session."""

    base: ast.expr | None
    attributes: str = ""

    def text(self, draft: Draft) -> str | None:
        return draft.module.text(self.base) + self.attributes if self.base is not None else None


def send_after(
    draft: Draft, statement: ast.stmt, run: Run, session: str | None, comment: str = ""
) -> list[Edit]:
    """The edits that send rank 0's variables after a statement. Refuses where the graph may be finalised by then.

    run: what is run in that session elsewhere; session: what it is called after the statement (None: the default one)"""
    built, edits = _operation(draft, statement)
    lines = [f"{session}.run({built})" if session is not None else f"{built}.run()"]
    if session is not None and built == _BROADCAST and _has_own_graph(draft, run, statement):
        lines = [f"with {session}.graph.as_default():", *(f"    {line}" for line in lines)]
    elif session is None and built == _BROADCAST and (opened := _default_elsewhere(draft, statement)):
        default = f"{draft.v1(opened.func)}.get_default_session()"
        lines = [f"with {default}.graph.as_default():", *(f"    {line}" for line in lines)]
    return [*edits, *draft.put_after(statement, draft.lines_of(*lines, comment=comment), level=-1)]


def _operation(draft: Draft, statement: ast.stmt) -> tuple[str, list[Edit]]:
    """The broadcast as it is run after a statement, and what builds it earlier if the graph is finalised before."""
    syntax = draft.syntax
    for call in draft.sites.method_calls("finalize"):
        finalised = syntax.statement(call)
        if call.args or call.keywords or not isinstance(finalised, ast.Expr):
            continue
        if syntax.function(finalised) is syntax.function(statement):
            if position(finalised) > position(statement):
                continue
            if end(finalised) <= position(statement) and draft.can_insert(finalised):
                name = draft.same_name("broadcast")
                first = draft.once("built", finalised)
                return name, [draft.before(finalised, [f"{name} = {_BROADCAST}"])] if first else []
        draft.refuse(
            "HVD006",
            call,
            "this finalises the graph before the broadcast is part of it, so ranks would start from different "
            "variables; finalise it later",
        )
    return _BROADCAST, []


def _has_own_graph(draft: Draft, run: Run, statement: ast.stmt) -> bool:
    """Whether a session is of a graph that need not be the default one at a statement."""
    if run.session is None:
        return False
    return any(_is_elsewhere(draft, call, statement) for call in draft.sites.graph.opened(run.session))


def _default_elsewhere(draft: Draft, statement: ast.stmt) -> ast.Call | None:
    """Where the session is opened that a caller makes the default one, `with session.as_default(): start()`, but not its
    graph."""
    for way in draft.drive.ways(statement):
        for frame in way[1:]:
            session = draft.sites.graph.default_session(frame.node)
            for call in draft.sites.graph.opened(session) if session is not None else ():
                if _is_elsewhere(draft, call, draft.syntax.statement(frame.node)):
                    return call
    return None


def _is_elsewhere(draft: Draft, opened: ast.Call, statement: ast.stmt) -> bool:
    syntax = draft.syntax
    withs = [
        a for a in syntax.ancestors(opened) if isinstance(a, ast.With) and _names_graph(draft, a, opened)
    ]
    given = argument(opened, "graph", 1)
    if given is None and not withs:
        return False
    if given is not None and any(_enters(a, given) for a in syntax.ancestors(statement)):
        return False
    entered = isinstance(syntax.parent.get(opened), ast.withitem) and syntax.inside(
        statement, syntax.statement(opened)
    )
    return not entered and not any(syntax.inside(statement, w) for w in withs)


def _names_graph(draft: Draft, statement: ast.With, opened: ast.Call) -> bool:
    """`with graph.as_default():` around a session that is opened there."""
    for item in statement.items:
        e = item.context_expr
        entered = made_default(e)
        if entered is not None and e is not opened and not draft.sites.graph.is_session(entered):
            return True
    return False


def _enters(statement: ast.AST, graph: ast.expr) -> bool:
    """`with graph.as_default():` of that graph"""
    items = statement.items if isinstance(statement, ast.With) else []
    entered = [made_default(item.context_expr) for item in items]
    return any(e is not None and ast.unparse(e) == ast.unparse(graph) for e in entered)


# ---------------------------------------------------------------------- what a session is called elsewhere


def in_caller(draft: Draft, session: Session, function: Function | None, call: ast.AST) -> Session | None:
    """What the session of a function is called where that function is called: the same, where it means the same there,
    the argument that is passed for it, or the attribute of the same object."""
    base, attributes = session.base, session.attributes
    if base is None or _means_same(draft, base, call):
        return session
    if not isinstance(call, ast.Call) or not isinstance(function, FUNCTIONS):
        return None
    if draft.values.callee(call) is not function:
        return None
    if isinstance(base, ast.Attribute):
        attributes = f".{base.attr}{attributes}"
        base = base.value
    if not isinstance(base, ast.Name):
        return None
    names = [a.arg for a in function.args.args]
    if base.id not in names or not any(b.kind == "parameter" for b in draft.module.scopes.reaching(base)):
        return None
    index = names.index(base.id)
    if draft.syntax.method_class(function) is None:
        given = argument(call, base.id, index)
    elif index == 0:
        given = call.func.value if isinstance(call.func, ast.Attribute) else None
    else:
        given = argument(call, base.id, index - 1)
    return Session(given, attributes) if isinstance(given, (ast.Name, ast.Attribute)) else None


def _means_same(draft: Draft, session: ast.expr, there: ast.AST) -> bool:
    """Whether the text of an expression means the same elsewhere."""
    names = [n for n in ast.walk(session) if isinstance(n, ast.Name)]
    scopes, syntax = draft.module.scopes, draft.syntax
    here = syntax.function(session)
    owner = syntax.method_class(here)
    if (
        owner is not None
        and syntax.method_class(syntax.function(there)) is owner
        and isinstance(session, ast.Attribute)
    ):
        return all(_is_self(draft, n) for n in names)
    return bool(names) and all(
        scopes.lookup(n.id, n) is scopes.lookup(n.id, there) and scopes.lookup(n.id, n) is not None
        for n in names
    )


def _is_self(draft: Draft, name: ast.Name) -> bool:
    function = draft.syntax.function(name)
    return function is not None and bool(function.args.args) and function.args.args[0].arg == name.id


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
        isinstance(n, (ast.Name, ast.Attribute)) and draft.names.last(n) in _AVERAGES
        for n in draft.syntax.nodes
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
