"""What the loss of a compiled Keras model is over the rows of its batch: `fit` and `train_on_batch` show no loss themselves."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from horovodize.facts.differences.contexts import Context
from horovodize.facts.feeds.losses import Losses
from horovodize.facts.feeds.over_rows import Over
from horovodize.facts.feeds.own_layers import is_unseen, own_methods
from horovodize.facts.feeds.shapes import Shapes
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, Function, argument, arguments
from horovodize.summary.site_kinds import Compile
from horovodize.summary.sites import Sites

_MOST = 1500


class Compiled:
    """Of one module."""

    def __init__(self, module: Module, sites: Sites, shapes: Shapes) -> None:
        self.module, self.sites, self.shapes = module, sites, shapes
        self.names, self.values = module.names, module.values

    def over(self, model: ast.expr, rows: Collection[ast.AST] = ()) -> Over:
        """What the loss that a model is compiled with is over its rows; `rows`: what is seen to be fed to it.

        Keras takes the mean of what a loss function gives for each row."""
        compiles = self._compiles(model)
        made = list(self._made_of([model, *(c.model for c in compiles)]))
        losses = {self._of_loss(argument(c.call, "loss", 1)) for c in compiles}
        if Over.COUPLED in losses or any(self._joins(call, rows) for call in made):
            return Over.COUPLED
        sure = losses == {Over.MEAN} and not self._adds_losses() and not any(map(self._is_unseen, made))
        return Over.MEAN if sure else Over.UNKNOWN

    def unseen_layer(self, model: ast.expr) -> ast.Call | None:
        """Where a layer of a model is made that this file does not show."""
        made = self._made_of([model, *(c.model for c in self._compiles(model))])
        return next((call for call in made if self._is_unseen(call)), None)

    def beside(self, model: ast.expr) -> Iterator[ast.expr]:
        """The sizes that the rows of a model's inputs have, where a layer that this file does not show is called with several
        inputs at once: `attention([x, Input(shape=(n,))])`."""
        made = list(self._made_of([model, *(c.model for c in self._compiles(model))]))
        for call in (c for c in made if isinstance(c.func, ast.Call) and self._is_unseen(c.func)):
            together = (
                call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else []
            )
            inputs = {c for e in together[1:] for c in self.values.calls(e) if self._is_input(c)}
            for shape in (argument(c, "shape", 0) for c in inputs):
                yield from shape.elts if isinstance(shape, (ast.List, ast.Tuple)) else ()

    def _compiles(self, model: ast.expr) -> list[Compile]:
        text, made = ast.unparse(model), set(self.values.calls(model))
        return [
            c
            for c in self.sites.compiles
            if ast.unparse(c.model) == text or made & set(self.values.calls(c.model))
        ]

    def _adds_losses(self) -> bool:
        return bool(self.sites.method_calls("add_loss")) or any(u.step_of for u in self.sites.updates)

    # ------------------------------------------------------------------ the model

    def _made_of(self, models: list[ast.expr]) -> Iterator[ast.Call]:
        """The calls by which models, and what is added to them, are made."""
        made = {c for m in models for c in self.values.calls(m)}
        added = [
            a
            for call in self.sites.method_calls("add")
            if isinstance(call.func, ast.Attribute) and made & set(self.values.calls(call.func.value))
            for a in call.args
        ]
        for node in self.values.depends([*models, *added], _MOST):
            if isinstance(node, ast.Call):
                yield node

    def _joins(self, call: ast.Call, rows: Collection[ast.AST]) -> bool:
        """Whether a part of a model joins the rows that it is called with: a layer of the module's own, a function in a
        `Lambda`, or what is written between layers."""
        last = self.names.last(call.func)
        if last == "Model":
            inputs = {c for c in self._made_of(arguments(call)) if self._is_input(c)}
            outputs = argument(call, "outputs", 1)
            losses = Losses(self.module, {*inputs, *rows}, False, self.shapes)
            place = Context(self.module.syntax.function(call), None, None)
            return outputs is not None and losses.over(outputs, place) is Over.COUPLED
        functions: list[Function | ast.Lambda] = list(own_methods(self.module, call))
        wrapped = argument(call, "function", 0) if last == "Lambda" else None
        functions += self._functions(wrapped) if wrapped is not None else []
        return any(self._joins_inside(f, rows) for f in functions)

    def _is_input(self, call: ast.Call) -> bool:
        return self.names.last(call.func) in ("Input", "InputLayer")

    def _functions(self, e: ast.expr) -> list[Function | ast.Lambda]:
        return [o.node for o in self.values.origins(e) if isinstance(o.node, CALLABLES)]

    def _joins_inside(self, function: Function | ast.Lambda, rows: Collection[ast.AST]) -> bool:
        losses = Losses(self.module, {*self._given(function), *rows}, False, self.shapes)
        return losses.joins_inside(function)

    def _given(self, function: Function | ast.Lambda) -> set[ast.AST]:
        """Where a function reads what it must be given: a batch. What has a default is a switch."""
        listed = [*function.args.posonlyargs, *function.args.args]
        taken = {a.arg for a in listed[: len(listed) - len(function.args.defaults)]} - {"self"}
        return {
            n
            for n in ast.walk(function)
            if isinstance(n, ast.Name)
            and n.id in taken
            and any(b.kind == "parameter" for b in self.module.scopes.reaching(n))
        }

    def _is_unseen(self, call: ast.Call) -> bool:
        """Whether a layer is made that this file does not show: what it does with rows can't be told."""
        if not is_unseen(self.module, call):
            return False
        parent = self.module.syntax.parent.get(call)
        if isinstance(parent, ast.Call):
            return parent.func is call or self.names.last(parent.func) == "add"
        outer = self.module.syntax.parent.get(parent) if isinstance(parent, (ast.List, ast.Tuple)) else None
        return isinstance(outer, ast.Call) and self.names.last(outer.func) == "Sequential"

    # ------------------------------------------------------------------ the loss

    def _of_loss(self, loss: ast.expr | None) -> Over:
        if loss is None:
            return Over.UNKNOWN
        if isinstance(loss, (ast.List, ast.Tuple, ast.Dict)):
            found = {self._of_loss(p) for p in (loss.values if isinstance(loss, ast.Dict) else loss.elts)}
        else:
            found = {self._of_one(o.node) for o in self.values.origins(loss)}
        if Over.COUPLED in found:
            return Over.COUPLED
        return Over.MEAN if found == {Over.MEAN} else Over.UNKNOWN

    def _of_one(self, node: ast.AST) -> Over:
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            return self._of_loss(node)
        if isinstance(node, CALLABLES):
            return self._of_functions([node])
        if isinstance(node, ast.Call):
            methods = list(own_methods(self.module, node))
            if methods:
                return self._of_functions(methods)
            named = ".losses." in (self.names.of(node.func) or "") and argument(node, "reduction") is None
        elif isinstance(node, ast.Constant):
            named = isinstance(node.value, str)
        else:
            named = isinstance(node, (ast.Name, ast.Attribute)) and ".losses." in (self.names.of(node) or "")
        return Over.MEAN if named else Over.UNKNOWN

    def _of_functions(self, functions: Collection[Function | ast.Lambda]) -> Over:
        found = set[Over]()
        for function in functions:
            losses = Losses(self.module, self._given(function), False, self.shapes)
            place = Context(function, None, None)
            found |= {losses.over(r, place) for r in self.values.returned(function)}
        if Over.COUPLED in found:
            return Over.COUPLED
        return Over.MEAN if found and found <= {Over.ROWS, Over.VECTOR, Over.MEAN} else Over.UNKNOWN


__all__ = ["Compiled"]
