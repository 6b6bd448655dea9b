"""What a script that uses Horovod does where it runs on several ranks: the arms of `if hvd.size() > 1:` that are taken then.

    loss = step(rows)
    if hvd.size() > 1:
        loss = hvd.allreduce(loss)

After this `loss` is the mean of all ranks; what it was before is the answer of a run alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.binding import Binding
from horovodize.python.module import Module
from horovodize.python.reaching import paths
from horovodize.python.syntax import FUNCTIONS

_DEPTH = 3  # names that stand for each other
_OTHER_SIDE = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_MORE = ((ast.Gt, 1), (ast.GtE, 2), (ast.NotEq, 1))
_ONE = ((ast.Eq, 1), (ast.Lt, 2), (ast.LtE, 1))


class SeveralRanks:
    """The tests of one module that ask for the number of ranks."""

    def __init__(self, module: Module) -> None:
        self.module, self.syntax = module, module.syntax
        self.asks = any(name.startswith("horovod.") and name.endswith(".size") for name in module.calls)

    def answer(self, test: ast.expr, depth: int = _DEPTH) -> bool | None:
        """How a test is answered where there are several ranks, `hvd.size() > 1`; None where that isn't all it asks."""
        if not self.asks or not depth:
            return None
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                answer = self.answer(inner, depth)
                return None if answer is None else not answer
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if isinstance(left, ast.Constant):
                    left, right = right, left
                    kind = _OTHER_SIDE.get(type(op))
                else:
                    kind = type(op)
                if not self._is_size(left) or not isinstance(right, ast.Constant):
                    return None
                return (
                    True if (kind, right.value) in _MORE else False if (kind, right.value) in _ONE else None
                )
            case ast.Name() | ast.Attribute():
                nodes = [o.node for o in self.module.values.origins(test)]
                answers = {self.answer(n, depth - 1) for n in nodes if isinstance(n, ast.Compare)}
                return answers.pop() if len(answers) == len(nodes) == 1 else None
        return None

    def _is_size(self, e: ast.expr) -> bool:
        made = [o.node for o in self.module.values.origins(e)]
        names = [self.module.names.of(n.func) or "" if isinstance(n, ast.Call) else "" for n in made]
        return bool(names) and all(n.startswith("horovod.") and n.endswith(".size") for n in names)

    def given(self, bound: Sequence[Binding], use: ast.expr) -> Sequence[Binding]:
        """Those of the bindings of a name that give it its value on several ranks."""
        if not self.asks or len(bound) < 2:
            return bound
        left = [b for b in bound if not self._is_of_one(b.statement)]
        for later in left:
            decision = self._around(later.statement)
            if decision is not None and paths(self.syntax, decision, use)[1]:
                return [b for b in left if b is later or not self._is_before(b.statement, decision)]
        return left

    def is_left_out(self, statement: ast.stmt) -> bool:
        """Whether a `return` gives nothing on several ranks: it stands where there is one, or after one that is taken there."""
        if not self.asks:
            return False
        if self._is_of_one(statement):
            return True
        function = self.syntax.function(statement)
        earlier = function.body if isinstance(function, FUNCTIONS) else []
        return any(
            isinstance(s, ast.If)
            and self.answer(s.test)
            and isinstance(s.body[-1], ast.Return)
            and self._is_before(s, statement)
            for s in earlier
        )

    def _is_of_one(self, node: ast.AST) -> bool:
        """Whether something is only done in a run alone."""
        return any(
            self.answer(decision.test) is (arm != "body") for decision, arm in self.syntax.conditions(node)
        )

    def _around(self, node: ast.AST) -> ast.If | None:
        """The `if` around a statement that is done on several ranks, and nothing else decides."""
        decision, arm = next(iter(self.syntax.conditions(node)), (None, ""))
        taken = isinstance(decision, ast.If) and self.answer(decision.test) is (arm == "body")
        return (
            decision
            if isinstance(decision, ast.If) and taken and self.syntax.parent.get(node) is decision
            else None
        )

    def _is_before(self, node: ast.AST, other: ast.stmt) -> bool:
        return isinstance(node, ast.stmt) and node.lineno < other.lineno


__all__ = ["SeveralRanks"]
