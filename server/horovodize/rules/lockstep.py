"""Loops that ranks must leave together: part of G4.

A rank that leaves a training loop one step before the others leaves them waiting for it for ever. Counters lead to the same
end on all ranks; a loss that is computed from a rank's own batch, a clock or a game that each rank plays for itself do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from horovodize.rules.draft import Draft
from horovodize.rules.guards import from_root
from horovodize.rules.shares import feeding
from horovodize.source import Edit
from horovodize.summary.feeding import Kind
from horovodize.summary.scopes import Binding
from horovodize.summary.steady import Steady
from horovodize.summary.syntax import CALLABLES, LOOPS, Loop

# Builtins that give every rank the same if they are given the same.
_COUNTING = {
    "range",
    "len",
    "int",
    "float",
    "min",
    "max",
    "abs",
    "round",
    "sum",
    "bool",
    "isinstance",
    "enumerate",
    "zip",
}
_WHY = "A rank that leaves the loop alone leaves the others waiting for it for ever."
_ALIKE = "all ranks must come to the same decision here: one that leaves alone stalls the others"
_GAME = "each rank plays its own game here: all of them now end when one of them does"


class Cause(Enum):
    """What decides a condition."""

    COUNT = "the same on all ranks"
    VALUE = "a value of the rank's own, once a turn"
    GAME = "the course of a simulation"


def keep_in_step(draft: Draft) -> None:
    """Makes ranks leave training loops together; refuses where they can't."""
    known = feeding(draft)
    sites = _sites(draft)
    seen: set[Loop] = set()
    for site in sites:
        for way in draft.drive.ways(site):
            for loop in (loop for frame in way for loop in frame.loops):
                if loop not in seen:
                    seen.add(loop)
                    _keep(draft, loop, sites)
    for fed in known.fits:
        if fed.kind is Kind.UNKNOWN and draft.syntax.loops(fed.fit.call) and _is_self_made(draft, fed.x):
            draft.refuse(
                "HVD006",
                fed.x,
                "each rank makes these rows with the model anew in every round: where their number differs, ranks would take "
                "different numbers of steps and wait for each other for ever; fit on a fixed number of rows",
            )


def learns_from_a_game(draft: Draft, step: ast.Call) -> bool:
    """Whether a loop around a step ends with a simulation that each rank runs for itself."""
    ways = draft.drive.ways(step)
    return any(_ends_with_a_game(draft, loop) for way in ways for frame in way for loop in frame.loops)


def _ends_with_a_game(draft: Draft, loop: Loop) -> bool:
    tests = [test for leaving in _exits(loop) for test in _tests(draft, leaving, loop)]
    tests += [loop.test] if isinstance(loop, ast.While) else []
    return any(_cause(draft, test, loop, _sites(draft)) is Cause.GAME for test in tests)


def _sites(draft: Draft) -> set[ast.AST]:
    updates = {u.call for u in draft.sites.updates if u.step_of is None}
    runs = {run.call for run in draft.sites.graph.trainings}
    return updates | runs | {f.call for f in draft.sites.fits}


def _tests(draft: Draft, leaving: ast.stmt, loop: Loop) -> list[ast.expr]:
    """The tests that decide whether a loop is left at a statement, innermost first."""
    around = (c for c, _ in draft.syntax.conditions(leaving) if isinstance(c, ast.If))
    return [c.test for c in around if draft.syntax.inside(c, loop)]


def _keep(draft: Draft, loop: Loop, sites: set[ast.AST]) -> None:
    if isinstance(loop, ast.While):
        cause = _cause(draft, loop.test, loop, sites)
        if cause is Cause.VALUE:
            _agree(draft, loop.test)
        elif cause is Cause.GAME and isinstance(loop.test, ast.UnaryOp) and isinstance(loop.test.op, ast.Not):
            _agree(draft, loop.test.operand, _GAME)
        elif cause is Cause.GAME:
            _refuse(draft, loop.test)
    for leaving in _exits(loop):
        tests = _tests(draft, leaving, loop)
        causes = [_cause(draft, test, loop, sites) for test in tests]
        if not set(causes) - {Cause.COUNT}:
            continue
        if set(causes[1:]) <= {Cause.COUNT} and _is_first_arm(draft, leaving):
            _agree(draft, tests[0], _GAME if causes[0] is Cause.GAME else "")
        elif Cause.GAME in causes:
            _refuse(draft, leaving)
        elif not _tell(draft, leaving, loop, sites):
            draft.refuse("HVD205", leaving, _ALIKE)


def _tell(draft: Draft, leaving: ast.stmt, loop: Loop, sites: set[ast.AST]) -> bool:
    """Patience: what decides is compared first and counted then (`if loss < best: … else: bad += 1; if bad > 3: break`). Rank
    0 tells the others the values before the outermost `if` that depends on one; from there on all decide alike."""
    decisions = [
        c
        for c, _ in draft.syntax.conditions(leaving)
        if isinstance(c, ast.If) and draft.syntax.inside(c, loop)
    ]
    differing = [c for c in decisions if _cause(draft, c.test, loop, sites) is not Cause.COUNT]
    outermost = differing[-1]
    while _is_elif(draft, outermost):
        parent = draft.syntax.parent[outermost]
        assert isinstance(parent, ast.If)
        outermost = parent
    steady = Steady(draft.module, draft.drive)
    if not draft.can_insert(outermost) or draft.drive.in_traced(outermost):
        return False
    if not all(
        steady.same_value(c.test)
        for c in decisions
        if draft.syntax.inside(outermost, c) and c is not outermost
    ):
        return False
    names: dict[str, None] = {}
    for decision in (n for n in ast.walk(outermost) if isinstance(n, ast.If)):
        for name in (n for n in ast.walk(decision.test) if isinstance(n, ast.Name)):
            if _is_own_value(draft, name, loop):
                if any(
                    draft.syntax.inside(b.statement, outermost) and b.kind != "assign"
                    for b in _bound(draft, name)
                ):
                    return False
                names[name.id] = None
        if any(isinstance(n, (ast.Call, ast.Attribute)) for n in ast.walk(decision.test)):
            return False  # a value without a name can't be told
    if not names:
        return False
    if draft.once("told", outermost):
        told = ", ".join(names)
        values = told if len(names) == 1 else f"({told})"
        line = f"{told} = {from_root(draft)}({values})"
        rule = "S5" if draft.in_graph else "G4"
        draft.change(
            rule, outermost, "Decide on all ranks by rank 0's values", _WHY, [draft.before(outermost, [line])]
        )
    return True


def _bound(draft: Draft, name: ast.Name) -> list[Binding]:
    return [b for b in draft.module.scopes.reaching(name) if isinstance(b.statement, ast.stmt)]


def _is_own_value(draft: Draft, name: ast.Name, loop: Loop) -> bool:
    """Whether a rank computes the value of a name in a loop: by a call there that does not only count."""
    return any(
        isinstance(n, ast.Call) and draft.syntax.inside(n, loop) and not _counts(draft, n)
        for n in draft.values.depends([name], 300)
    )


def _is_elif(draft: Draft, statement: ast.If) -> bool:
    holder = draft.syntax.parent.get(statement)
    return (
        isinstance(holder, ast.If)
        and draft.syntax.field[statement] == "orelse"
        and draft.document.text.startswith("elif", draft.module.span(statement).start)
    )


def _exits(loop: Loop) -> list[ast.stmt]:
    """The statements that leave a loop: its own `break`s, and `return`s."""
    found: list[ast.stmt] = []
    todo: list[tuple[ast.AST, bool]] = [(s, True) for s in loop.body]
    while todo:
        node, own = todo.pop()
        if isinstance(node, (*CALLABLES, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and own):
            found.append(node)
        todo += [
            (c, own and not isinstance(node, LOOPS))
            for c in ast.iter_child_nodes(node)
            if isinstance(c, (ast.stmt, ast.ExceptHandler))
        ]
    return found


def _is_first_arm(draft: Draft, leaving: ast.stmt) -> bool:
    """Whether the nearest `if` around is no `elif` and the statement stands in its first arm."""
    nearest, arm = draft.syntax.conditions(leaving)[0]
    holder = draft.syntax.parent.get(nearest)
    return arm == "body" and not (isinstance(holder, ast.If) and draft.syntax.field[nearest] == "orelse")


def _cause(draft: Draft, test: ast.expr, loop: Loop, sites: set[ast.AST]) -> Cause:
    """What decides a test: anything that is called in the loop may give each rank a value of its own, unless it counts."""
    cause = Cause.COUNT
    for n in _decided_by(draft, test, loop):
        if not isinstance(n, ast.Call) or not draft.syntax.inside(n, loop):
            continue
        if _steps_a_game(draft, n) and not draft.drive.reaches(n, sites):
            return Cause.GAME
        if not _counts(draft, n):
            cause = Cause.VALUE
    return cause


def _counts(draft: Draft, call: ast.Call) -> bool:
    """Whether a call gives every rank the same if it is given the same."""
    return isinstance(call.func, ast.Name) and call.func.id in _COUNTING and draft.values.callee(call) is None


def _decided_by(draft: Draft, test: ast.expr, loop: Loop) -> Iterator[ast.AST]:
    """What a test is made of, and what decided whether that was set: `if loss < 0.1: done = True`."""
    todo, seen = [test], set[ast.AST]()
    while todo:
        for n in draft.values.depends([todo.pop()], 300):
            if n in seen:
                continue
            seen.add(n)
            yield n
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                todo += [a for a in _put_into(draft, n) if draft.syntax.inside(a, loop) and a not in seen]
                for binding in draft.module.scopes.reaching(n):
                    conditions = draft.syntax.conditions(binding.statement)
                    todo += [
                        c.test for c, _ in conditions if draft.syntax.inside(c, loop) and c.test not in seen
                    ]


def _put_into(draft: Draft, name: ast.Name) -> list[ast.expr]:
    """What a list or another container is filled with under this name: `rewards.append(reward)`."""
    scope = draft.module.scopes.lookup(name.id, name)
    return [
        argument
        for call in draft.sites.method_calls("append", "appendleft", "extend", "insert", "add", "update")
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == name.id
        and draft.module.scopes.lookup(name.id, call) is scope
        for argument in call.args
    ]


def _steps_a_game(draft: Draft, call: ast.Call) -> bool:
    """`env.step(action)`"""
    f = call.func
    return isinstance(f, ast.Attribute) and f.attr == "step" and bool(call.args) and draft.names.of(f) is None


def _agree(draft: Draft, test: ast.expr, doubt: str = "") -> None:
    if test in draft.done:
        return
    draft.done.add(test)
    if draft.drive.in_traced(test):
        draft.refuse("HVD205", test, _ALIKE)
        return
    if draft.in_graph:
        draft.session_config(draft.sites.any_v1)
    edits = Edit.around(draft.module.span(test), f"{draft.helper('any_rank')}(", ")")
    draft.change(
        "S5" if draft.in_graph else "G4",
        test,
        "Leave the loop on all ranks together",
        _WHY,
        edits,
        doubt=doubt,
    )


def _refuse(draft: Draft, node: ast.AST) -> None:
    draft.refuse(
        "HVD006",
        node,
        "each rank plays its own simulation and ends this loop when that is over: ranks would take different numbers of "
        "training steps and wait for each other for ever; train a fixed number of steps in each round",
    )


def _is_self_made(draft: Draft, data: ast.expr) -> bool:
    """Whether training data is made by calling the model, as in self-play."""
    for n in draft.values.depends([data], 300):
        bodies: list[ast.AST] = [n]
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            bodies += [o.node for o in draft.values.origins(n) if isinstance(o.node, CALLABLES)]
        if any(
            isinstance(c, ast.Call)
            and isinstance(c.func, ast.Attribute)
            and c.func.attr in ("predict", "predict_on_batch")
            for b in bodies
            for c in ast.walk(b)
        ):
            return True
    return False
