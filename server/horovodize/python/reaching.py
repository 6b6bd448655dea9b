"""Which of the bindings of a name, in one scope, may give it its value at a use: by position, branch and loop."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.binding import Binding
from horovodize.python.syntax import LOOPS, Loop, Syntax, end, position


def reaching(syntax: Syntax, every: Sequence[Binding], use: ast.Name) -> list[Binding]:
    """The bindings that reach a use, latest first. `every`: all that the name has in the use's own scope, in the order of the
    text, but for those that calls make."""
    statement = syntax.statement(use)
    found: list[Binding] = []
    dominated = False
    for binding in reversed(every):
        if not _before(binding, use, statement):
            continue
        reaches, dominates = paths(syntax, binding.statement, use)
        if reaches:
            found.append(binding)
            if dominates and binding.kind != "augment" and not _may_be_skipped(syntax, binding, use):
                dominated = True
                break
            if _given_in_both_arms(syntax, found, use):
                dominated = True
                break
    loops = syntax.loops(use)
    if isinstance(statement, ast.While) and syntax.inside(use, statement.test):
        loops = [statement, *loops]  # its test is read in each turn too
    if (loops and not dominated) or not found or _carried(syntax, found, loops):
        for binding in every:  # values of an earlier turn of a loop around the use
            if binding not in found and binding.kind != "parameter":
                if _is_bound_again(syntax, binding, every, loops):
                    continue
                if not found or any(syntax.inside(binding.statement, loop) for loop in loops):
                    # What comes later in the turn, or in the other arm of an `if`.
                    if not _before(binding, use, statement) or not paths(syntax, binding.statement, use)[0]:
                        found.append(binding)
    return found


def _given_in_both_arms(syntax: Syntax, found: Sequence[Binding], use: ast.AST) -> bool:
    """Whether the last of the bindings that were found completes an `if` each arm of which gives the name a value, or leaves
    the function, and which must have run before the use: what came before it doesn't reach that."""
    given = {b.statement for b in found if b.kind == "assign"}
    statement: ast.AST = found[-1].statement
    while isinstance(decision := syntax.parent.get(statement), ast.If):
        if statement not in given or not all(
            _is_given(arm, given) for arm in (decision.body, decision.orelse)
        ):
            return False
        if paths(syntax, decision, use)[1]:
            return True
        given.add(decision)
        statement = decision
    return False


def _is_given(arm: Sequence[ast.stmt], given: set[ast.AST]) -> bool:
    if arm and isinstance(arm[-1], (ast.Return, ast.Raise)):
        return True
    return any(
        s in given or (isinstance(s, ast.If) and _is_given(s.body, given) and _is_given(s.orelse, given))
        for s in arm
    )


def _may_be_skipped(syntax: Syntax, binding: Binding, use: ast.AST) -> bool:
    """Whether a use stands behind the loop that binds its name: that may have had no turn."""
    loop = binding.statement
    return binding.kind == "item" and isinstance(loop, LOOPS) and not syntax.inside(use, loop)


def _is_bound_again(
    syntax: Syntax, binding: Binding, every: Sequence[Binding], loops: Sequence[Loop]
) -> bool:
    """Whether each turn of a loop around a use gives the name another value after this one, which the next turn begins with:
    `total` at the head of `while total > 1: … total += loss … total = total / n`."""
    loop = next((loop for loop in loops if syntax.inside(binding.statement, loop)), None)
    if loop is None:
        return False
    after = [
        b
        for b in every
        if b.statement in loop.body and b.kind == "assign" and position(b.anchor) > end(binding.statement)  # type: ignore[arg-type]
    ]
    return bool(after) and not any(
        isinstance(n, ast.Continue) or (isinstance(n, ast.Break) and loop is not loops[-1])
        for n in syntax.every(ast.Continue, ast.Break)
        if syntax.loops(n)[:1] == [loop] and position(n) < position(after[-1].statement)  # type: ignore[arg-type]
    )


def _carried(syntax: Syntax, found: list[Binding], loops: list[Loop]) -> bool:
    """Whether the dominating binding stands outside a loop around the use, so that later ones in the loop may win."""
    last = found[-1]
    return any(not syntax.inside(last.statement, loop) for loop in loops)


def _before(binding: Binding, use: ast.Name, statement: ast.stmt) -> bool:
    if binding.kind == "parameter":
        return True
    if binding.statement is statement and binding.kind in ("assign", "augment"):
        return False
    anchor = binding.anchor
    if binding.kind in ("item", "with"):
        inside_header = binding.statement is statement
        return not inside_header and position(binding.statement) <= position(use)  # type: ignore[arg-type]
    if binding.kind in ("def", "class"):
        return end(anchor) <= position(use)  # type: ignore[arg-type]
    at = (
        binding.statement
        if isinstance(binding.statement, ast.stmt) and not isinstance(binding.statement, LOOPS)
        else anchor
    )
    return position(at) < position(use)  # type: ignore[arg-type]


def paths(syntax: Syntax, definition: ast.AST, use: ast.AST) -> tuple[bool, bool]:
    """(can it reach the use, must it have run before the use), from the branches around both."""
    if not isinstance(definition, ast.stmt):
        return True, True
    arm_of: dict[ast.AST, str] = {}
    child = use
    for a in syntax.ancestors(use):
        arm_of[a] = syntax.field[child]
        child = a
    dominates = True
    child = definition
    for a in syntax.ancestors(definition):
        arm = syntax.field[child]
        if isinstance(
            a,
            (
                ast.If,
                ast.Try,
                ast.Match,
                ast.While,
                ast.For,
                ast.AsyncFor,
                ast.ExceptHandler,
                ast.match_case,
            ),
        ):
            if a not in arm_of:
                dominates &= isinstance(a, ast.Try) and arm == "finalbody"
            elif arm_of[a] != arm:
                if isinstance(a, ast.If) and "test" not in (arm_of[a], arm):
                    return False, False
                dominates = False
        child = a
    return True, dominates
