"""Orders of rows that are drawn by what draws without replacement, rather than by a shuffle: part of D3.

`order = np.random.choice(n, n, replace=False)`, `random.sample(paths, len(paths))` and `np.argsort(np.random.rand(n))` put rows
in an order, of which the loop that follows takes its rows piece by piece. Drawn in each turn, the same calls are a batch of a
rank's own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS, LOOPS, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import walk
from horovodize.summary.call_paths import Frame

_MADE_ORDERS = ("argsort",)
_SORTS = ("sorted", "sort")
_YIELDS = (ast.Yield, ast.YieldFrom)


def draws_order(draft: Draft, call: ast.Call) -> bool:
    """Whether a draw puts rows in an order: none of them comes twice."""
    name, last = draft.names.of(call.func) or "", draft.names.last(call.func)
    if last == "choice" and not name.startswith("random."):
        replace = argument(call, "replace", 2)
        return isinstance(replace, ast.Constant) and replace.value is False
    if last == "sample":
        return name == "random.sample" or (
            draft.uniform.draws.maker(call) is not None and len(call.args) == 2
        )
    around = draft.syntax.parent[call]
    if isinstance(around, ast.Attribute):  # `np.random.rand(n).argsort()`
        return around.attr in _MADE_ORDERS
    return isinstance(around, ast.Call) and draft.names.last(around.func) in _MADE_ORDERS


def _sorts(module: Module, call: ast.Call) -> bool:
    """Whether a call sorts, by more than what each item holds: `key=lambda item: item[1]`."""
    if module.names.last(call.func) not in _SORTS:
        return False
    key = argument(call, "key")
    if not isinstance(key, ast.Lambda):
        return True
    own = {a.arg for a in key.args.args}
    return any(
        isinstance(n, ast.Call) or (isinstance(n, ast.Name) and n.id not in own) for n in walk(key.body)
    )


def sorting_draws(draft: Draft, draws: Iterable[ast.Call]) -> set[ast.Call]:
    """Those of some draws by which rows are sorted: `keys = [random.random() for _ in rows]`, then `sorted(rows,
    key=keys.__getitem__)`; `sorted((random.random(), row) for row in rows)`. Of those in the head of a loop rank 0 tells the
    whole."""
    inside, named = set[ast.AST](), set[tuple[ast.AST | None, str]]()
    for sorting in draft.module.calls_which(_sorts):
        by = [argument(sorting, "key"), *sorting.args[:1]]
        if isinstance(sorting.func, ast.Attribute):
            by.append(sorting.func.value)
        given = [e for e in by if e is not None]
        parts = [n for e in given for n in ((e,) if isinstance(e, ast.Name) else walk(e))]
        if not isinstance(draft.syntax.statement(sorting), ast.For):
            inside.update(parts)
        function = draft.syntax.function(sorting)
        named |= {(function, n.id) for n in parts if isinstance(n, ast.Name)}
    if not named:
        return set()
    return {c for c in draws if c in inside or any(name in named for name in _set_by(draft, c))}


def _set_by(draft: Draft, call: ast.Call) -> Iterator[tuple[ast.AST | None, str]]:
    """The names that a statement sets, each with the function that they are in."""
    statement = draft.syntax.statement(call)
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        if isinstance(target, ast.Name):
            yield draft.syntax.function(call), target.id


def sorting_by(draft: Draft, call: ast.Call) -> ast.Call | None:
    """`rows.sort(key=lambda row: random.random())` around the draw, which a `lambda` makes when that is run."""
    around = (a for a in draft.syntax.ancestors(call) if isinstance(a, (ast.Lambda, ast.stmt)))
    function = next(around, None)
    parent = draft.syntax.parent[function] if isinstance(function, ast.Lambda) else None
    sorting = draft.syntax.parent[parent] if isinstance(parent, ast.keyword) and parent.arg == "key" else None
    return sorting if isinstance(sorting, ast.Call) and draft.names.last(sorting.func) in _SORTS else None


def is_of_one_call(draft: Draft, call: ast.Call) -> bool:
    """Whether what was drawn is gone with the call of its function, which gives one batch: nothing else is dealt out by it."""
    statement, function = draft.syntax.statement(call), draft.syntax.function(call)
    if function is None or any(isinstance(n, _YIELDS) for n in walk(function)):
        return False
    if isinstance(statement, ast.Expr) and statement.value is call and call.args:  # `random.shuffle(numbers)`
        held = call.args[0]
        bound = draft.module.scopes.reaching(held) if isinstance(held, ast.Name) else []
        made = [b.value for b in bound if b.kind == "assign"]
        return (
            _is_own(draft, held, function)
            and len(made) == len(bound)
            and not any(
                isinstance(e, (ast.Name, ast.Attribute))
                for e in made  # of what else is shuffled with it
            )
        )
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return isinstance(statement, (ast.Assign, ast.Return)) and all(
        _is_own(draft, t, function) for t in targets
    )


def _is_own(draft: Draft, e: ast.expr, function: ast.AST) -> bool:
    """Whether a name is one of a function's own."""
    return isinstance(e, ast.Name) and draft.module.scopes.lookup(e.id, e) is function


def is_dealt_out(draft: Draft, call: ast.Call) -> bool:
    """Whether a later loop goes through what was drawn, or takes its part of it in each turn: not to make one batch of it."""
    return any(_is_given_out(draft, way) for way in draft.drive.ways(call))


def _is_given_out(draft: Draft, way: tuple[Frame, ...]) -> bool:
    for frame in way:
        if _is_taken_apart(draft, frame.node):
            return True
        if not isinstance(draft.syntax.statement(frame.node), ast.Return):
            return False  # what calls the function gets something else
    return False


def _is_taken_apart(draft: Draft, drawn: ast.AST) -> bool:
    statement = draft.syntax.statement(drawn)
    if isinstance(statement, ast.Expr) and (sorted_ := _sorted_in_place(statement)) is not None:
        function = draft.syntax.function(statement)
        after = (n for n in walk(function or draft.module.tree) if getattr(n, "lineno", 0) > statement.lineno)
        return any(
            (isinstance(n, ast.YieldFrom) and _reads(n, {sorted_}))
            or (isinstance(n, LOOPS) and _takes(n, {sorted_}))
            for n in after
        )
    if not isinstance(statement, ast.Assign):
        return isinstance(statement, (ast.For, ast.AsyncFor)) and draft.syntax.inside(drawn, statement.iter)
    function = draft.syntax.function(statement)
    if _is_kept_by_object(draft, statement):
        return True
    nodes = list(walk(function if function is not None else draft.module.tree))
    later = [n for n in nodes if isinstance(n, LOOPS) and n.lineno > statement.lineno]
    loops = [n for n in later if not draft.syntax.inside(statement, n)]
    kept = _targets(statement)
    for n in nodes:  # what is made of it before them: `paths = [paths[i] for i in order]`
        is_later = isinstance(n, ast.Assign) and n.lineno > statement.lineno
        if isinstance(n, ast.Assign) and is_later and _reads(n.value, kept):
            kept |= set() if any(draft.syntax.inside(n, loop) for loop in loops) else _targets(n)
    for decision, _ in draft.syntax.conditions(
        drawn
    ):  # `if at + 32 > n: order = sample(rows, n)`, in the loop that takes them
        loops += [loop for loop in draft.syntax.loops(drawn) if draft.syntax.inside(decision, loop)]
    yields = any(isinstance(n, _YIELDS) for n in nodes)
    return any(
        _takes(loop, kept) for loop in loops if not yields or any(isinstance(n, _YIELDS) for n in walk(loop))
    )


def _sorted_in_place(statement: ast.Expr) -> str | None:
    """`rows` of `rows.sort(key=…)`"""
    match statement.value:
        case ast.Call(func=ast.Attribute(value=(ast.Name() | ast.Attribute()) as rows, attr="sort")):
            return ast.unparse(rows)
    return None


def _is_kept_by_object(draft: Draft, statement: ast.Assign) -> bool:
    """Whether an object keeps what was drawn, `self.order = …`, and another of its methods selects by a part of it; or the
    same one, which doesn't draw at each call."""
    function = draft.syntax.function(statement)
    owner = draft.syntax.method_class(function) if function is not None else None
    if owner is None:
        return False
    kept = {name for name in _targets(statement) if "." in name}
    now_and_then = bool(draft.syntax.conditions(statement))
    others = (s for s in owner.body if isinstance(s, FUNCTIONS) and (s is not function or now_and_then))
    parts = (
        n for s in others for n in walk(s) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)
    )
    return any(ast.unparse(n.value) in kept and not isinstance(n.slice, ast.Constant) for n in parts)


def _targets(statement: ast.Assign) -> set[str]:
    parts = (p for t in statement.targets for p in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t]))
    return {ast.unparse(p) for p in parts if isinstance(p, (ast.Name, ast.Attribute))}


def _takes(loop: ast.AST, kept: set[str]) -> bool:
    """Whether a loop goes through one of these, or reads a part of it in its turns."""
    if isinstance(loop, (ast.For, ast.AsyncFor)) and _reads(loop.iter, kept):
        return True
    parts = (n for s in getattr(loop, "body", ()) for n in walk(s) if isinstance(n, ast.Subscript))
    return any(ast.unparse(n.value) in kept for n in parts)


def _reads(e: ast.AST, kept: set[str]) -> bool:
    return any(isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in kept for n in walk(e))
