"""Tests that say by which of several the rows of a turn are selected, and decide nothing else.

    if i == last:
        rows = x[i * 32 :]
    else:
        rows = x[i * 32 : (i + 1) * 32]

The last batch goes to the end. A rank selects by a number of its own, so the test must ask that number, too: asked of the
number that all ranks share, it would let a rank that is before the end take everything up to the end.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.syntax import Syntax
from horovodize.source.nodes import names_set, walk


def choosing_tests(syntax: Syntax, decision: ast.If, selecting: set[ast.AST]) -> list[ast.expr]:
    """The tests of an `if` with its `elif`s, where its arms only set or give back what is selected by the number of the turn.

    selecting  the expressions by which rows are selected
    Nothing where an arm does more than that, where rows may stay for later turns, and for an `elif` (its `if` says it)."""
    parent = syntax.parent.get(decision)
    if isinstance(parent, ast.If) and parent.orelse == [decision]:
        return []
    tests, arms, has_else = _chain(decision)
    block = syntax.block(decision)
    at = block.index(decision)
    if all(_gives_back(arm, selecting) for arm in arms):
        return tests if has_else or _gives_back(block[at + 1 :], selecting) else []
    if not all(isinstance(s, ast.Assign) and _selects(s, selecting) for arm in arms for s in arm):
        return []
    names = [_set_in(arm) for arm in arms]
    before = _set_in([s for s in block[:at] if isinstance(s, ast.Assign)])
    alike = all(n == names[0] for n in names)
    if has_else:
        return tests if alike else []
    chooses_again = len(arms) > 1 and alike and not any(_is_remainder(t) for t in tests)
    return tests if all(n <= before for n in names) or chooses_again else []


def _chain(decision: ast.If) -> tuple[list[ast.expr], list[list[ast.stmt]], bool]:
    """(the tests, the arms, whether there is an `else`) of an `if` with its `elif`s."""
    tests, arms = [decision.test], [decision.body]
    rest = decision.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        tests.append(rest[0].test)
        arms.append(rest[0].body)
        rest = rest[0].orelse
    return tests, [*arms, rest] if rest else arms, bool(rest)


def _gives_back(statements: Sequence[ast.stmt], selecting: set[ast.AST]) -> bool:
    """Whether statements only give back rows that are selected, perhaps by names that they set."""
    *before, last = statements or [ast.Pass()]
    return (
        isinstance(last, ast.Return)
        and all(isinstance(s, ast.Assign) for s in before)
        and any(_selects(s, selecting) for s in statements)
    )


def _selects(statement: ast.stmt, selecting: set[ast.AST]) -> bool:
    return any(n in selecting for n in walk(statement))


def _is_remainder(test: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in walk(test))


def _set_in(statements: Sequence[ast.stmt]) -> set[str]:
    assigned = [s for s in statements if isinstance(s, ast.Assign)]
    return {name for s in assigned for target in s.targets for name in names_set(target)}
