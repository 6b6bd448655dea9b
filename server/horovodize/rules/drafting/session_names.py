"""What a session is called, here and where a function is called, and whether its graph is the default one at a place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.python.syntax import FUNCTIONS, Function, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.summary.graph import Run, made_default


@dataclass(frozen=True)
class Session:
    """What a session is called somewhere: `base` and what follows it (`model`, `.sess`). base None: the default session."""

    base: ast.expr | None
    attributes: str = ""

    def text(self, draft: Draft) -> str | None:
        return draft.module.text(self.base) + self.attributes if self.base is not None else None


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
    if draft.syntax.method_class(function) is None or draft.values.graph.is_static(function):
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


def has_own_graph(draft: Draft, run: Run, statement: ast.stmt) -> bool:
    """Whether a session is of a graph that need not be the default one at a statement."""
    if run.session is None:
        return False
    return any(is_elsewhere(draft, call, statement) for call in draft.sites.graph.opened(run.session))


def is_elsewhere(draft: Draft, opened: ast.Call, statement: ast.stmt) -> bool:
    syntax = draft.syntax
    withs = list(_graphs_around(draft, opened, opened))
    given = argument(opened, "graph", None if opened in draft.sites.supervised else 1)
    if given is None and not withs:
        return False
    if given is not None and any(_enters(a, given) for a in syntax.ancestors(statement)):
        return False
    entered = isinstance(syntax.parent.get(opened), ast.withitem) and syntax.inside(
        statement, syntax.statement(opened)
    )
    return not entered and not any(_is_run_within(draft, statement, w) for w in withs)


def _is_run_within(draft: Draft, place: ast.AST, around: ast.With, depth: int = 3) -> bool:
    """Whether a place stands in a `with`, or all that calls its function does."""
    if draft.syntax.inside(place, around):
        return True
    function = draft.syntax.function(place)
    calls = draft.values.callers(function) if depth and isinstance(function, FUNCTIONS) else []
    return bool(calls) and all(_is_run_within(draft, call, around, depth - 1) for call in calls)


def _graphs_around(draft: Draft, place: ast.AST, opened: ast.Call, depth: int = 3) -> Iterator[ast.With]:
    """Each `with graph.as_default():` around the call that opens a session, also where a function that does it is called."""
    syntax = draft.syntax
    found = [a for a in syntax.ancestors(place) if isinstance(a, ast.With) and _names_graph(draft, a, opened)]
    yield from found
    function = syntax.function(place)
    if not found and depth and isinstance(function, FUNCTIONS):
        for call in draft.values.callers(function):
            yield from _graphs_around(draft, call, opened, depth - 1)


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
