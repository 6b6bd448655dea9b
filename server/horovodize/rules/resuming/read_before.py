"""Numbers and lists that an earlier run has written to a file, read before a loop, and by which a decision in the loop goes:
part of G6.

`history = json.load(open(path))` before the loop, and `if len(history) > 5 and min(history[-5:]) > min(history[:-5]): break` in
it: where rank 0's host alone has the file, the others begin with none. They go on with rank 0's."""

from __future__ import annotations

import ast
from typing import TypeGuard

from horovodize.facts.counting import records
from horovodize.facts.differences import class_attributes
from horovodize.facts.differences.answers import Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.files.kept import INFINITE
from horovodize.python.binding import Binding
from horovodize.python.syntax import FUNCTIONS, Loop, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.together.any_rank_test import can_agree, differing

_WHAT = "Go on with what rank 0 has read on all ranks"
_WHY = "Ranks on other hosts may have no such file, or an older one: they would decide by something else."
_SHORT = 48  # characters that names take up together, to be sent in one line
# What gives numbers, texts and lists of them, which can be sent: not a model, nor a generator.
_LOADING = frozenset(
    "load loads read readline readlines loadtxt tolist list dict int float len sorted min max sum mean index count".split()
)
_PLAIN = (
    ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.ListComp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp,
)  # fmt: skip


def agree(draft: Draft, decided: ast.expr) -> None:
    """Sends what `decided`, in a loop or its head, goes by and what was read before it."""
    loops = draft.syntax.loops(decided)
    head = draft.syntax.parent[decided]
    if isinstance(head, ast.While) and decided is head.test:
        loops = loops if loops else [*loops, head]
    if loops and draft.syntax.function(decided) is draft.syntax.function(loops[-1]):
        _agree(draft, decided, loops[-1])


def agree_on_head(draft: Draft, loop: ast.While) -> None:
    """The same of a loop's head, where each turn sets what it reads by something else that was read before: `while epoch < 3:`,
    and `epoch = step // 100` in it."""
    read = {n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)}
    set_here = (s for s in ast.walk(loop) if isinstance(s, ast.Assign))
    by = {
        n.id
        for s in set_here
        if any(isinstance(t, ast.Name) and t.id in read for t in s.targets)
        for n in ast.walk(s.value)
        if isinstance(n, ast.Name)
    }
    if by - read:
        _agree(draft, loop.test, loop)


def _agree(draft: Draft, decided: ast.expr, outermost: Loop) -> None:
    found = {r for r in differing(draft, decided) if _is_read_before(draft, r, outermost)}
    if not found or not can_agree(draft, outermost) or not draft.can_insert(outermost):
        return
    names = _read_by(draft, decided, outermost, found)
    if not names or found - {r for name in names for r in draft.uniform.reasons(name)}:
        return
    written = sorted({ast.unparse(name) for name in names})
    told = [text for text in written if draft.once(f"agreed {text}", outermost)]
    for some in [told] if len(", ".join(told)) <= _SHORT else [[text] for text in told]:
        of = ", ".join(some)
        line = f"{of} = {from_root(draft)}({of if len(some) == 1 else f'({of})'})"
        if some:
            draft.change("G6", decided, _WHAT, _WHY, [draft.before(outermost, [line])])
    given = [e for name in names for e in _given_before(draft, name, outermost)]
    draft.settled |= {(e, r.where) for e in (decided, *names, *given) for r in found}


def _before(draft: Draft, name: ast.Name | ast.Attribute, loop: Loop) -> list[Binding]:
    """What gives a name its value outside of the loop, also where `bad += 1` in the loop goes on from that."""
    scopes = draft.module.scopes
    if isinstance(name, ast.Attribute):
        bound = scopes.attributes.get(name.attr, [])
    else:
        scope = scopes.lookup(name.id, name)
        bound = scopes.names[scope][name.id] if scope is not None else []
    return [b for b in bound if not draft.syntax.inside(b.statement, loop)]


def _given_before(draft: Draft, name: ast.Name | ast.Attribute, loop: Loop) -> list[ast.expr]:
    """What a name is given outside of a loop, and the tests by which it is."""
    given = [b.value for b in _before(draft, name, loop) if b.value is not None]
    given += _given_otherwise(draft, name, loop)
    around = [test.test for v in given for test, _ in draft.syntax.conditions(v) if isinstance(test, ast.If)]
    return [*given, *around]


def _given_otherwise(draft: Draft, name: ast.Name | ast.Attribute, loop: Loop) -> list[ast.expr]:
    """What a field is given where its object is made outside of a loop, `State(**json.load(file))`, and what a dictionary is
    given there beside others, `state.update(json.load(file))`."""
    if isinstance(name, ast.Attribute):
        found = [node for node, _ in records.given(draft.module, name)]
        found += [b.value for b in class_attributes.of_class(draft.module, name) if b.value is not None]
        found += [k.value for c in draft.values.calls(name.value) for k in c.keywords if k.arg is None]
    else:
        written = ast.unparse(name)
        added = [c for c in draft.module.calls_called("update") if ast.unparse(c.func) == f"{written}.update"]
        found = [a for c in added for a in arguments(c)]
    return [e for e in found if isinstance(e, ast.expr) and not draft.syntax.inside(e, loop)]


def _can_be_set(draft: Draft, name: ast.Name | ast.Attribute) -> bool:
    """Whether rank 0's value can be put where it is read: what the program itself sets in an object, or a name."""
    return isinstance(name, ast.Name) or bool(draft.values.attribute_bindings(name))


def _is_read_before(draft: Draft, reason: Varies | Unknown, loop: Loop) -> bool:
    is_file = isinstance(reason, Varies) and reason.kind is Source.FILES
    return is_file and not draft.syntax.inside(reason.where, loop)


def _read_by(
    draft: Draft, decided: ast.expr, loop: Loop, found: set[Varies | Unknown]
) -> list[ast.Name | ast.Attribute] | None:
    """The names in a loop that hold what was read, also those by which others are set: `if loss < best: best, bad = loss, 0`.
    None where one holds something else, too, which can't be sent."""
    names = list[ast.Name | ast.Attribute]()
    for n in draft.values.depends([decided, *_tests_behind(draft, decided, loop)], 400):
        is_field = isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        if not (isinstance(n, ast.Name) or (is_field and isinstance(n, ast.Attribute))):
            continue
        if not draft.syntax.inside(n, loop):
            continue
        if any(found.intersection(draft.uniform.reasons(v)) for v in _given_before(draft, n, loop)):
            if not all(can_be_sent(draft, b) for b in _before(draft, n, loop)) or not _can_be_set(draft, n):
                return None
            if not all(_is_plain(draft, e) for e in _given_otherwise(draft, n, loop)):
                return None
            names.append(n)
    return names


def _tests_behind(draft: Draft, decided: ast.expr, loop: Loop) -> list[ast.expr]:
    """The tests in a loop by which what an expression reads is set there, and what they read."""
    found = list[ast.expr]()
    todo: list[ast.expr] = [decided]
    while todo:
        read = [n for n in ast.walk(todo.pop()) if isinstance(n, (ast.Name, ast.Attribute))]
        set_in = [b.statement for n in read for b in draft.values.bindings(n)]
        around = [t for s in set_in if draft.syntax.inside(s, loop) for t, _ in draft.syntax.conditions(s)]
        more = [t.test for t in around if isinstance(t, ast.If) and draft.syntax.inside(t, loop)]
        todo += [t for t in dict.fromkeys(more) if t not in found]
        found += [t for t in dict.fromkeys(more) if t not in found]
    return found


def can_be_sent(draft: Draft, b: Binding) -> bool:
    """Whether what a name is given is seen to be a number, a text or made of such: not a model, nor a generator."""
    if b.kind != "assign" or b.value is None:
        return False
    if not b.path:
        return _is_plain(draft, b.value)
    callee = draft.values.callee(b.value) if isinstance(b.value, ast.Call) else None
    given = draft.values.returned(callee) if isinstance(callee, FUNCTIONS) else [b.value]
    parts = [e.elts[b.path[0]] if _has(e, b.path[0]) else e for e in given]
    return all(_is_plain(draft, e) for e in parts)


def _has(e: ast.expr, i: int) -> TypeGuard[ast.Tuple | ast.List]:
    return isinstance(e, (ast.Tuple, ast.List)) and 0 <= i < len(e.elts)


def _is_plain(draft: Draft, value: ast.expr) -> bool:
    match value:
        case ast.Subscript():  # `saved["best"]`
            return _is_plain(draft, value.value)
        case ast.Call(func=ast.Attribute(attr="get", value=saved), args=[_, *otherwise], keywords=[]):
            return all(_is_plain(draft, e) for e in (saved, *otherwise))  # `saved.get("best", 9.0)`
    return all(
        isinstance(o.node, _PLAIN)
        or draft.names.of(o.node) in INFINITE
        or (isinstance(o.node, ast.Call) and draft.names.last(o.node.func) in _LOADING)
        or (
            isinstance(o.node, (ast.Subscript, ast.Call)) and o.node is not value and _is_plain(draft, o.node)
        )
        for o in draft.values.origins(value)
    )
