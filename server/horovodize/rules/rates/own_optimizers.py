"""What an optimizer class of the program does by its count of steps: part of C5.

    class Warm(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient, variable, learning_rate * ops.minimum(1.0, self.iterations / 1000))

A rank counts size() times fewer, which is asked about. Powers stay, `1 - beta ** (self.iterations + 1)`: they make up for how
an average of gradients begins, which goes on once a step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import ITERATIONS
from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.counts.optimizer_settings import WHAT, WHY
from horovodize.rules.drafting.draft import Draft

_OPTIMIZER = "tensorflow.keras.optimizers.Optimizer"
_POWERS = ("pow", "power")
_ASKED = (
    "this optimizer goes by a count of a rank's steps, size() times fewer than before: check that it changes as fast for the "
    "rows that are seen"
)


def ask(draft: Draft) -> None:
    """Asks about each class once, where it first goes by its count."""
    if draft.in_graph or not draft.options.split_data or not draft.divided:
        return
    for cls in draft.syntax.every(ast.ClassDef):
        if _OPTIMIZER not in draft.values.ancestors(cls):
            continue
        reads = (n for member in cls.body if isinstance(member, FUNCTIONS) for n in _reads(member))
        found = next((n for n in reads if not _is_exponent(draft, n)), None)
        if found is not None and draft.once("counts of an optimizer", cls):
            draft.ask("C5", found, WHAT, WHY, _ASKED)


def _reads(function: ast.AST) -> Iterator[ast.Attribute]:
    """`self.iterations`, read."""
    for n in ast.walk(function):
        if isinstance(n, ast.Attribute) and n.attr in ITERATIONS and isinstance(n.ctx, ast.Load):
            if isinstance(n.value, ast.Name) and n.value.id == "self":
                yield n


def _is_exponent(draft: Draft, read: ast.expr, depth: int = 4) -> bool:
    """Whether a count is only used as an exponent, there or by the names that it is given to."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        match a:
            case ast.BinOp(op=ast.Pow(), right=right) if right is child:
                return True
            case ast.Call(args=[_, exponent]) if draft.names.last(a.func) in _POWERS and exponent is child:
                return True
            case ast.Assign(targets=[ast.Name(id=name)]) if depth:
                function = draft.syntax.function(a)
                named = [
                    n for n in draft.syntax.every(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)
                ]
                own = [n for n in named if draft.syntax.function(n) is function]
                return all(_is_exponent(draft, n, depth - 1) for n in own)
            case ast.stmt():
                return False
        child = a
    return False


__all__ = ["ask"]
