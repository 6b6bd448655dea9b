"""What a train op does to variables: of what it computes gradients, what it trains by them, and what it counts."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.ordering.calls import WITHOUT_GRADIENT
from horovodize.ordering.variables import ALL_TRAINABLE, Variable, Variables
from horovodize.python.module import Module
from horovodize.python.syntax import argument, arguments, has_unpacking, says_none
from horovodize.summary.sites import Sites


@dataclass(frozen=True)
class TrainOp:
    """`minimize` or `apply_gradients`.

    losses     what gradients are computed of, where that's seen
    settings   what else a step depends on: the optimizer's rate
    variables  what is surely trained, but for `is_behind`: then also what the losses are computed of
    counter    what is counted, after that"""

    losses: tuple[ast.expr, ...]
    settings: tuple[ast.expr, ...]
    variables: tuple[Variable, ...] = ()
    is_behind: bool = False
    counter: Variable | None = None


class Training:
    """The train ops of one module."""

    def __init__(self, module: Module, sites: Sites, variables: Variables) -> None:
        self.module, self.variables = module, variables
        self._made = set[ast.AST](sites.graph_minimizes) - set[ast.AST](sites.created_train_ops)

    def is_train_op(self, call: ast.Call) -> bool:
        return call in self._made and isinstance(call.func, ast.Attribute) and not has_unpacking(call)

    def ends_gradients(self, node: ast.expr) -> bool:
        """Whether nothing behind an expression is trained through it."""
        if isinstance(node, ast.Call):
            return self.module.names.last(node.func) in WITHOUT_GRADIENT
        return isinstance(node, (ast.Compare, ast.BoolOp))

    def of(self, call: ast.Call) -> TrainOp:
        assert isinstance(call.func, ast.Attribute)
        is_minimize = call.func.attr == "minimize"
        step = argument(call, "global_step", 1)
        counter = self.variables.of(step) if step is not None else None
        settings = self._settings(call.func.value)
        source: ast.Call | None = (
            call if is_minimize else self._gradients(argument(call, "grads_and_vars", 0))
        )
        loss = argument(source, "loss", 0) if source is not None else None
        if source is None or loss is None:
            given = argument(call, "grads_and_vars", 0)
            return TrainOp(() if given is None else (given,), settings, counter=counter)
        chosen = argument(source, "var_list", 2 if is_minimize else 1)
        if chosen is None or says_none(chosen):
            everything = Variable(ALL_TRAINABLE, "each trainable variable", is_each=True)
            return TrainOp((loss,), settings, (everything,), True, counter)
        return TrainOp((loss,), settings, tuple(self._chosen(chosen)), False, counter)

    def _settings(self, optimizer: ast.expr) -> tuple[ast.expr, ...]:
        """What an optimizer is made with."""
        made = self.variables.only(optimizer)
        if not isinstance(made, ast.Call):
            return ()
        return tuple(arguments(made))

    def _gradients(self, given: ast.expr | None) -> ast.Call | None:
        """The `compute_gradients` that gives what is applied, as it is or each changed by itself."""
        node = self.variables.only(given) if given is not None else None
        if isinstance(node, ast.ListComp):
            node = self.variables.only(node.generators[0].iter)
        is_made = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if (
            is_made
            and isinstance(node, ast.Call)
            and self.module.names.last(node.func) == "compute_gradients"
        ):
            return node
        return None

    def _chosen(self, e: ast.expr) -> list[Variable]:
        """The variables of a `var_list`, one by one where it names them, and each of it."""
        node = self.variables.only(e)
        parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [e]
        found = [v for part in parts if (v := self.variables.of(part)) is not None]
        if (key := self.variables.collection(e)) is not None:
            found.append(Variable(key, f"each of `{self.module.text(e)}`", is_each=True))
        return found
