"""What a loop hands on from turn to turn besides what is trained: names that are set in one turn and read in a later one, and
objects that a turn changes in place. Training that begins again in the middle has to have all of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS, LOOPS, Loop

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CONTAINERS = ("list", "dict", "set", "deque", "defaultdict", "Counter", "OrderedDict")
# Methods that change what they are called on, or go on in it, though their result is used.
_MOVING = {
    "append", "add", "clear", "discard", "extend", "insert", "next", "pop", "popitem", "popleft", "put", "get_next", "remove",
    "setdefault", "sort", "update", "shuffle", "send", "readline",
}  # fmt: skip
_GOING_ON = ("next", "setattr", "delattr", "exec", "eval")
# What gives a variable another value.
_ASSIGNING = {"assign", "assign_add", "assign_sub", "scatter_nd_update", "scatter_update"}
_METRICS = "tensorflow.keras.metrics."


@dataclass(frozen=True)
class Changed:
    """An object that is changed in place.

    name    what it is called, where that is a plain name
    kind    "container": a list, dict or set of the script; "metric": one of Keras; "unseen": what it keeps can't be told
    node    where it is changed"""

    name: str
    kind: str
    node: ast.AST


class TurnState:
    """Of the loops of one module."""

    def __init__(self, module: Module) -> None:
        self.module, self.syntax = module, module.syntax

    # ------------------------------------------------------------------ names

    def stored(self, loop: Loop) -> list[str]:
        """The names that a loop sets, its own variable included, as the text has them."""
        return list(dict.fromkeys(name for n in _own(loop) for name in _stored(n)))

    def handed_on(self, loop: Loop) -> list[str]:
        """The names that a turn may read as an earlier turn has left them."""
        exposed, _ = _exposed(loop.body, _targets(loop))
        return [name for name in self.stored(loop) if name in exposed]

    # ------------------------------------------------------------------ objects

    def changed(self, loop: Loop, aside: Collection[str]) -> list[Changed]:
        """What a turn changes in place and didn't make, in the loop or in functions that it calls.

        aside  the texts of what is trained, which is kept anyway"""
        own = set(self.stored(loop))
        return list(self._changed(_own(loop), own, aside, set()))

    def _changed(
        self, nodes: Iterable[ast.AST], own: set[str], aside: Collection[str], seen: set[ast.AST]
    ) -> Iterator[Changed]:
        for node in nodes:
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                yield from self._of(node.value, node, own, aside)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                yield Changed(node.names[0], "unseen", node)
            elif isinstance(node, ast.Call):
                yield from self._called(node, own, aside, seen)

    def _called(
        self, call: ast.Call, own: set[str], aside: Collection[str], seen: set[ast.AST]
    ) -> Iterator[Changed]:
        callee = self.module.values.callee(call)
        if isinstance(callee, FUNCTIONS):
            if callee not in seen:
                seen.add(callee)
                made = {a.arg for a in ast.walk(callee.args) if isinstance(a, ast.arg)}
                inside = [n for s in callee.body for n in _nodes(s)]
                yield from self._changed(
                    inside, made | {name for n in inside for name in _stored(n)}, aside, seen
                )
            return
        func = call.func
        if isinstance(func, ast.Name) and func.id in _GOING_ON and call.args:
            yield from self._of(call.args[0], call, own, aside)
        if not isinstance(func, ast.Attribute) or self._is_of_a_package(func):
            if isinstance(func, ast.Attribute) and func.attr == "shuffle" and call.args:
                yield from self._of(call.args[0], call, set(), aside)
            return
        alone = isinstance(self.syntax.parent[call], ast.Expr)
        if alone or func.attr in _MOVING | _ASSIGNING or isinstance(callee, ast.Lambda):
            yield from self._of(func.value, call, own, aside)

    def _is_of_a_package(self, func: ast.Attribute) -> bool:
        """`np.mean`, `tf.summary.scalar`: a function, not the method of an object."""
        base: ast.expr = func
        while isinstance(base, ast.Attribute):
            base = base.value
        found = self.module.scopes.reaching(base) if isinstance(base, ast.Name) else []
        return bool(found) and all(b.kind == "import" for b in found)

    def _of(self, e: ast.expr, node: ast.AST, own: set[str], aside: Collection[str]) -> Iterator[Changed]:
        base: ast.expr = e
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            if ast.unparse(base) in aside:
                return
            base = base.value
        if isinstance(base, ast.Call):
            return  # of something just made
        name = base.id if isinstance(base, ast.Name) else ""
        if name in aside or (name in own and self._is_made_there(base)):
            return
        yield Changed(name, self._kind(base) if base is e or isinstance(e, ast.Subscript) else "unseen", node)

    def _is_made_there(self, base: ast.expr) -> bool:
        """Whether a name of a loop or function stands for what that makes, not for a part of something from elsewhere."""
        bound = self.module.scopes.reaching(base) if isinstance(base, ast.Name) else []
        made = [b.value for b in bound if b.kind in ("assign", "with") and not b.path]
        return (
            bool(made)
            and len(made) == len(bound)
            and all(isinstance(v, (ast.Call, *_DISPLAYS)) for v in made)
        )

    def _kind(self, base: ast.expr) -> str:
        bound = self.module.scopes.reaching(base) if isinstance(base, ast.Name) else []
        if not bound:
            return "unseen"
        if all(b.kind == "assign" and not b.path and self._is_container(b.value) for b in bound):
            return "container"
        made = self.module.values.class_names(base)
        return "metric" if made and all(name.startswith(_METRICS) for name in made) else "unseen"

    def _is_container(self, node: ast.AST | None) -> bool:
        made = isinstance(node, ast.Call) and self.module.names.last(node.func) in _CONTAINERS
        return made or isinstance(node, _DISPLAYS)


# ---------------------------------------------------------------------- what is read before it is set


def _exposed(block: Sequence[ast.stmt], known: set[str]) -> tuple[set[str], set[str]]:
    """(names that statements may read before they set them, names that are set when they are through)."""
    found, known = set[str](), set(known)
    for statement in block:
        more, known = _of_statement(statement, known)
        found |= more
    return found, known


def _of_statement(statement: ast.stmt, known: set[str]) -> tuple[set[str], set[str]]:
    if isinstance(statement, ast.If):
        found = _read([statement.test]) - known
        first, set_first = _exposed(statement.body, known)
        second, set_second = _exposed(statement.orelse, known)
        return found | first | second, set_first & set_second
    if isinstance(statement, LOOPS):
        header = statement.test if isinstance(statement, ast.While) else statement.iter
        found = _read([header]) - known
        inside, _ = _exposed(statement.body, known | _targets(statement))
        after, _ = _exposed(statement.orelse, known)
        return found | inside | after, known
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        found = _read([i.context_expr for i in statement.items]) - known
        named = {
            name
            for i in statement.items
            if i.optional_vars
            for n in ast.walk(i.optional_vars)
            for name in _stored(n)
        }
        inside, known = _exposed(statement.body, known | named)
        return found | inside, known
    blocks = [b for b in (getattr(statement, f, None) for f in ("body", "orelse", "finalbody")) if b]
    if blocks and not isinstance(statement, (*CALLABLES, ast.ClassDef)):  # try, match
        parts = [*blocks, *(h.body for h in getattr(statement, "handlers", []))]
        return {name for part in parts for name in _exposed(part, known)[0]}, known
    if isinstance(statement, ast.Match):
        parts = [case.body for case in statement.cases]
        found = _read([statement.subject]) - known
        return found | {name for part in parts for name in _exposed(part, known)[0]}, known
    found = _read([statement]) - known
    return found, known | {name for n in _nodes(statement) for name in _stored(n)}


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that nodes read; not those of comprehensions' own."""
    found = set[str]()
    for node in nodes:
        inner = _read(ast.iter_child_nodes(node))
        if isinstance(node, COMPREHENSIONS):
            inner -= {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        found |= inner
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def _targets(loop: Loop) -> set[str]:
    target = getattr(loop, "target", None)
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)} if target is not None else set()


def _stored(n: ast.AST) -> list[str]:
    return [n.id] if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) else []


def _own(loop: Loop) -> list[ast.AST]:
    """The nodes of a loop's header and body."""
    return _nodes(loop)


def _nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes below one, in the order of the text; not the bodies of functions that are only defined there, and no names of
    comprehensions' own."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [node]
    while todo:
        n = todo.pop()
        found.append(n)
        if n is not node and isinstance(n, (*CALLABLES, ast.ClassDef)):
            continue
        children = list(ast.iter_child_nodes(n))
        if isinstance(n, ast.comprehension):
            children = [c for c in children if c is not n.target]
        todo += reversed(children)
    return found
