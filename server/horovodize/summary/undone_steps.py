"""Steps that are undone before the update that counts: a model is adapted to a task, another loss is taken there, and its
weights are set back to what was kept (first-order MAML; sharpness-aware minimization by a copy).

    kept = model.get_weights()
    for _ in range(3):
        adapt(model, task)          # steps by an inner optimizer, or by hand
    gradients = tape.gradient(loss, model.trainable_variables)
    model.set_weights(kept)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

What each process did in between is gone, to the last bit: those steps are no training that ranks share, and averaged over
ranks they would adapt to the tasks of all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from horovodize.catalogue.weights import OF_MODEL
from horovodize.python.module import Module
from horovodize.python.syntax import LOOPS

_COPYING = ("identity", "numpy", "value", "read_value", "Variable", "copy", "array")
_DEPTH = 3


@dataclass(frozen=True)
class Undone:
    """Steps whose changes of weights are undone.

    model     whose weights, or the list of variables
    between   the statements before the one that sets them back
    since     all statements since the one that has kept them: more, where each turn of a loop sets them back"""

    model: ast.expr
    between: tuple[ast.stmt, ...]
    since: tuple[ast.stmt, ...]


class UndoneSteps:
    """The statements of one module whose changes of weights are undone."""

    def __init__(self, module: Module) -> None:
        self.module, self.syntax = module, module.syntax

    def around(self, node: ast.AST, depth: int = _DEPTH) -> list[Undone]:
        """In what each way to a node is undone; nothing where one leads by."""
        own = next(self._around(node), None)
        if own is not None:
            return [own]
        function = self.syntax.function(node)
        calls = self.module.values.callers(function) if function is not None and depth else []
        found = [self.around(call, depth - 1) for call in calls]
        return [u for f in found for u in f] if all(found) else []

    def is_among(self, statements: Sequence[ast.stmt], node: ast.AST, depth: int = _DEPTH) -> bool:
        """Whether a node stands in one of some statements, or in a function that is called there."""
        if any(self.syntax.inside(node, s) for s in statements):
            return True
        function = self.syntax.function(node)
        calls = self.module.values.callers(function) if function is not None and depth else []
        return any(self.is_among(statements, call, depth - 1) for call in calls)

    def is_of(self, undone: Undone, variables: ast.expr) -> bool:
        """Whether variables are those of the model whose weights are kept."""
        one, other = base(undone.model), base(variables)
        if ast.unparse(one) == ast.unparse(other):
            return True
        made = [{o.node for o in self.module.values.origins(e) if not o.path} for e in (one, other)]
        return bool(made[0]) and made[0] == made[1]

    def _around(self, node: ast.AST) -> Iterator[Undone]:
        """In the function of a node, from inside out."""
        for block, here in self._blocks(node):
            for later in range(here + 1, len(block)):
                back = _set_back(block[later])
                kept = self._kept(*back) if back is not None else None
                if back is None or kept is None:
                    continue
                for outer, there in self._blocks(block[later]):
                    if kept in outer[:there]:
                        first = outer.index(kept) + 1
                        between = block[first:later] if outer is block else block[:later]
                        since = between if outer is block else outer[first : there + 1]
                        if block[here] in between and not any(_leaves(s) for s in between):
                            yield Undone(back[0], (*between,), (*since,))

    def _blocks(self, node: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
        """The blocks around a node in its function, and the place of the statement in each that it stands in."""
        function, at = self.syntax.function(node), node
        for a in (node, *self.syntax.ancestors(node)):
            if isinstance(a, ast.stmt):
                if self.syntax.function(a) is not function or a is function:
                    return
                at = a
                block = self.syntax.block(at)
                yield block, block.index(at)

    def _kept(self, model: ast.expr, kept: ast.Name) -> ast.stmt | None:
        """The statement that keeps weights under a name, which stands for nothing else there."""
        bound = self.module.scopes.reaching(kept)
        if len(bound) != 1 or bound[0].kind != "assign" or bound[0].path or bound[0].value is None:
            return None
        statement = bound[0].statement
        return statement if isinstance(statement, ast.stmt) and _is_copy_of(bound[0].value, model) else None


def base(variables: ast.expr) -> ast.expr:
    """`model` of `model.trainable_variables`."""
    is_part = isinstance(variables, ast.Attribute) and variables.attr in OF_MODEL
    return variables.value if is_part and isinstance(variables, ast.Attribute) else variables


def _set_back(statement: ast.stmt) -> tuple[ast.expr, ast.Name] | None:
    """(the model or the list of variables, the name of what is kept) of `model.set_weights(kept)` and of
    `for v, k in zip(variables, kept): v.assign(k)`."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=model, attr="set_weights"), args=[ast.Name() as kept], keywords=[]
            )
        ):
            return model, kept
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=v), ast.Name(id=k)]),
            iter=ast.Call(func=ast.Name(id="zip"), args=[variables, ast.Name() as kept], keywords=[]),
            body=[
                ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=target), attr="assign"),
                        args=[ast.Name(id=value)],
                    )
                )
            ],
        ) if (target, value) == (v, k):
            return variables, kept
    return None


def _is_copy_of(value: ast.expr, model: ast.expr) -> bool:
    """`model.get_weights()` of a model, `[tf.identity(v) for v in variables]` of a list of variables."""
    match value:
        case ast.Call(func=ast.Attribute(value=whose, attr="get_weights"), args=[]):
            return ast.unparse(whose) == ast.unparse(model)
        case ast.ListComp(
            elt=ast.Call() as copy, generators=[ast.comprehension(target=ast.Name(id=v), iter=of, ifs=[])]
        ):
            called = copy.func.attr if isinstance(copy.func, ast.Attribute) else ast.unparse(copy.func)
            copied = (
                [copy.func.value] if isinstance(copy.func, ast.Attribute) and not copy.args else copy.args[:1]
            )
            is_copy = called in _COPYING and [ast.unparse(e) for e in copied] == [v]
            return is_copy and ast.unparse(of) == ast.unparse(model)
    return False


def _leaves(statement: ast.AST, in_loop: bool = False) -> bool:
    """Whether a statement may leave the block that it stands in."""
    if isinstance(statement, (ast.Return, ast.Raise)):
        return isinstance(statement, ast.Return)
    if isinstance(statement, (ast.Break, ast.Continue)):
        return not in_loop
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    inner = in_loop or isinstance(statement, LOOPS)
    return any(_leaves(child, inner) for child in ast.iter_child_nodes(statement))
