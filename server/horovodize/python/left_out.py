"""What calls in each other surely don't run: they hand another function on, or pass a mode in which a test leaves it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.python.activation import Activation
from horovodize.python.activations import Activations
from horovodize.python.flags import Level

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_left_out_there(activations: Activations, levels: Sequence[Level]) -> bool:
    """Whether a node is surely not run by the calls that lead there.

    levels: the node's, and those of the calls, innermost first"""
    within = activations.unknown(activations.syntax.function(levels[-1].call))
    for node, function, call in reversed(levels):
        inner = activations.entered(call, function, within)
        if inner is None or _is_left_out(activations, node, inner):
            return True
        within = inner
    return False


def _is_left_out(activations: Activations, node: ast.AST, within: Activation) -> bool:
    """Whether a test around a node, or one that leaves before it, decides against it by what the calls pass."""
    for test, wanted in _tests(activations, node, within):
        answer = activations.truth(test, within)
        # What is the same for all calls is a program's switch, which its user will set another time.
        if answer is not None and answer is not wanted:
            if activations.truth(test, activations.unknown(within.function)) is None:
                return True
    return False


def _tests(activations: Activations, node: ast.AST, within: Activation) -> Iterator[tuple[ast.expr, bool]]:
    """The tests in its function that a node is run by, with the answer that it takes."""
    syntax, child = activations.syntax, node
    for a in syntax.ancestors(node):
        if isinstance(child, ast.stmt):
            block = syntax.block(child)
            for before in block[: block.index(child)]:
                if isinstance(before, ast.If) and isinstance(before.body[-1], _LEAVES):
                    yield before.test, False
        field = syntax.field[child]
        if isinstance(a, (ast.If, ast.IfExp)) and field in ("body", "orelse"):
            yield a.test, field == "body"
        if a is within.function:
            return
        child = a


__all__ = ["is_left_out_there"]
