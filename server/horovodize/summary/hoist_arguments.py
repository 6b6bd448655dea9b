"""What must be taken out of an output statement before one rank may run it alone: what is shared in its arguments."""

from __future__ import annotations

import ast

from horovodize.python.syntax import COMPREHENSIONS
from horovodize.source.nodes import walk
from horovodize.summary.effects import Effects, in_place
from horovodize.summary.traced import makes_operations

_PATHS = ("os.path.join", "os.path.abspath", "os.path.expanduser", "pathlib.Path")


class TakingOut:
    """Finds the shared parts of output statements of one module."""

    def __init__(self, effects: Effects) -> None:
        self.effects, self.module = effects, effects.module

    def parts(self, statement: ast.Expr) -> list[ast.expr] | None:
        """The shared parts of an output statement, in the order in which they run; None where they can't be taken out
        without changing what runs, or when."""
        if self.effects.may_be_traced(statement):
            made = makes_operations(statement)
            return None if any(isinstance(e, ast.Starred) for e in made) else made
        found: list[ast.expr] = []
        before: list[ast.expr] = []  # what runs before the last of them
        pending: list[ast.expr] = []
        if not self._collect(statement.value, found, before, pending, top=True):
            return None
        if not found or all(self._only_evaluates(e) for e in found):
            return found
        changing = [e for e in before if not self._stable(e)]
        if not all(self._may_be_taken_out(e) for e in changing):
            return None
        return sorted([*found, *changing], key=self.module.span)

    def _may_be_taken_out(self, e: ast.expr) -> bool:
        """Whether all ranks may have the value of an expression: nothing is put out or opened by it."""
        calls = (n for n in walk(e) if isinstance(n, ast.Call))
        return not isinstance(e, ast.Starred) and not any(
            self.effects.output_calls.of(c) is not None or self.effects.opening.is_open(c) for c in calls
        )

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
        if isinstance(e, (ast.Lambda, ast.GeneratorExp)):
            return False  # nothing has run where it stands
        whole = isinstance(e, (ast.IfExp, ast.BoolOp, *COMPREHENSIONS)) or (
            isinstance(e, ast.JoinedStr) and not self._reliable(e)
        )
        own = isinstance(e, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) or (
            isinstance(e, ast.Call)
            and not top
            and (self.effects.moves_state(e) or any(isinstance(a, ast.GeneratorExp) for a in e.args))
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
        if isinstance(e, ast.Call):
            is_path = self.module.names.of(e.func) in _PATHS
            parts = (a for a in e.args if not (is_path and isinstance(a, ast.Attribute) and self._is_kept(a)))
            return (is_path or self._makes_text(e)) and all(self._stable(a) for a in parts)
        if isinstance(e, ast.Subscript) or isinstance(e, ast.Attribute) and self.module.names.of(e) is None:
            return False
        return all(self._stable(c) for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr))

    def _makes_text(self, call: ast.Call) -> bool:
        """Whether a call only puts together a text: `"{}.png".format(n)`, `str(n)`."""
        if isinstance(call.func, ast.Attribute):
            return call.func.attr == "format" and isinstance(call.func.value, ast.Constant)
        return isinstance(call.func, ast.Name) and call.func.id == "str"

    def _is_kept(self, e: ast.Attribute) -> bool:
        """Whether an attribute that is a part of a path, so a text, is what it was made: an option, or set by a constructor."""
        bindings = self.module.values.attribute_bindings(e)
        functions = [self.module.syntax.function(b.statement) for b in bindings]
        if any(getattr(f, "name", None) != "__init__" for f in functions):
            return False
        values = self.module.values
        made = [name for call in values.calls(e.value) for name in values.made_by(call)]
        return isinstance(e.value, ast.Name) and not any(name.startswith("tensorflow.") for name in made)


def _operands(e: ast.expr) -> list[ast.expr]:
    """The expressions that run for an expression, in order."""
    if isinstance(e, ast.Call):
        return [e.func, *e.args, *(k.value for k in e.keywords)]
    if isinstance(e, ast.Dict):
        return [x for pair in zip(e.keys, e.values, strict=True) for x in pair if x is not None]
    return [c for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr)]
