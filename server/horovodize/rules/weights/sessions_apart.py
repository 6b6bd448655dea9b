"""Whether two runs may be of one session: variables are sent in the session that trains them, before it is closed."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.session_names import Session, in_caller
from horovodize.summary.call_paths import Frame
from horovodize.summary.graph import Run, made_default


def same_session(draft: Draft, one: Run, other: Run) -> bool:
    """Whether two runs may be of one session."""
    opened = [_opened(draft, run) for run in (one, other)]
    return not all(opened) or bool(opened[0] & opened[1])


def _opened(draft: Draft, run: Run) -> set[ast.Call]:
    """Where the session of a run is opened; of the default one, by the `with` around it. Nothing where that can't be seen."""
    if run.session is not None:
        return set(draft.sites.graph.opened(run.session))
    return _entered(draft, run.call) or set()


def _entered(draft: Draft, node: ast.AST) -> set[ast.Call] | None:
    """Where the session is opened that a `with` around a place, in its function, makes the default one; nothing where that
    can't be seen, None without such a `with`."""
    graph = draft.sites.graph
    for around in draft.syntax.ancestors(node):
        if isinstance(around, FUNCTIONS):
            break
        for item in reversed(around.items) if isinstance(around, ast.With) else ():
            session = made_default(item.context_expr) or item.context_expr
            if found := graph.opened(session):
                return set(found)
            if graph.is_session(session):
                return set()
    return None


def are_apart(
    draft: Draft, ready: Run, up: tuple[Frame, ...], training: Run, down: tuple[Frame, ...], met: Frame
) -> bool:
    """Whether two runs are of different sessions on these ways to them from where they part: a function that trains the
    session that it is handed is called for one after the other."""
    one = _opened_on(draft, ready, up, met)
    other = _opened_on(draft, training, down, met)
    return bool(one) and bool(other) and not one & other


def _opened_on(draft: Draft, run: Run, way: tuple[Frame, ...], met: Frame) -> set[ast.Call]:
    """Where the session of a run is opened, on a way to it from a function; nothing where that can't be seen."""
    session = Session(run.session)
    for frame, around in zip(way, (*way[1:], None), strict=True):
        entered = _entered(draft, frame.node) if session.base is None else None
        if entered is not None:
            return entered
        if frame.function is met.function:
            is_known = session.base is not None and not session.attributes
            return (
                set(draft.sites.graph.opened(session.base))
                if is_known and session.base is not None
                else set()
            )
        found = in_caller(draft, session, frame.function, around.node) if around is not None else None
        if found is None:
            return set()
        session = found
    return set()


__all__ = ["are_apart", "same_session"]
