"""What must be taken out of an output statement before one rank may run it alone: what is shared in its arguments."""

from __future__ import annotations

import ast

from horovodize.source.nodes import walk
from horovodize.summary.effects import Effects, in_place
from horovodize.summary.syntax import COMPREHENSIONS
from horovodize.summary.traced import makes_operations


class TakingOut:
    """Finds the shared parts of output statements of one module."""

    def __init__(self, effects: Effects) -> None:
        self.effects, self.module = effects, effects.module

    def parts(self, statement: ast.Expr) -> list[ast.expr] | None:
        """The shared parts of an output statement, in the order in which they run; None where they can't be taken out
        without changing what runs, or when."""
        if self.effects.in_traced(statement):
            made = makes_operations(statement)
            return None if any(isinstance(e, ast.Starred) for e in made) else made
        found: list[ast.expr] = []
        before: list[ast.expr] = []  # what runs before the last of them
        pending: list[ast.expr] = []
        if not self._collect(statement.value, found, before, pending, top=True):
            return None
        if not found or all(self._only_evaluates(e) for e in found):
            return found
        return found if all(self._stable(e) for e in before) else None

    def _collect(
        self,
        e: ast.expr,
        found: list[ast.expr],
        before: list[ast.expr],
        pending: list[ast.expr],
        top: bool = False,
    ) -> bool:
        if not self.effects.shares(e):
            pending.append(e)
            return True
        if isinstance(e, ast.Lambda):
            return False
        whole = isinstance(e, (ast.IfExp, ast.BoolOp, *COMPREHENSIONS)) or (
            isinstance(e, ast.JoinedStr) and not self._reliable(e)
        )
        own = isinstance(e, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) or (
            isinstance(e, ast.Call) and not top and self.effects.moves_state(e)
        )
        if whole or own:
            if isinstance(e, (ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Await)) or any(
                isinstance(n, (ast.NamedExpr, ast.Yield, ast.Await)) for n in walk(e)
            ):
                return False
            before += pending
            pending.clear()
            found.append(e)
            return True
        operands = _operands(e)
        if (
            isinstance(e, ast.Call)
            and not self.effects.shares(e.func)
            and not any(isinstance(n, ast.Call) for n in walk(e.func))
        ):
            operands = operands[1:]  # which method is called does not change
        return all(self._collect(c, found, before, pending) for c in operands)

    def _reliable(self, e: ast.JoinedStr) -> bool:
        """Whether parts of an f-string can be edited: before Python 3.12 their positions are not always right, and
        `{x=}` prints its own text."""
        text = self.module.document.text
        for value in e.values:
            if isinstance(value, ast.FormattedValue):
                span = self.module.span(value.value)
                if not in_place(self.module, value.value) or text[
                    span.end : span.end + 8
                ].lstrip().startswith("="):
                    return False
        return True

    def _only_evaluates(self, e: ast.expr) -> bool:
        """Whether nothing that Python sees changes by it: an evaluation, a session's run that trains nothing."""
        if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute):
            return False
        graph = self.effects.sites.graph
        runs = e in graph.all_runs and not any(run.call is e for run in graph.runs)
        return runs or e.func.attr.startswith("evaluate")

    def _stable(self, e: ast.expr) -> bool:
        """Whether an expression has the same value before and after a training step."""
        for n in walk(e):
            if isinstance(n, (ast.Subscript, ast.Call)):
                return False
            if isinstance(n, ast.Attribute) and self.module.names.of(n) is None:
                return False
        return True


def _operands(e: ast.expr) -> list[ast.expr]:
    """The expressions that run for an expression, in order."""
    if isinstance(e, ast.Call):
        return [e.func, *e.args, *(k.value for k in e.keywords)]
    if isinstance(e, ast.Dict):
        return [x for pair in zip(e.keys, e.values, strict=True) for x in pair if x is not None]
    return [c for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr)]
