"""The places that train: where a model is fitted, where gradients reach an optimizer, where a session is opened."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, Function, argument
from horovodize.python.unpacking import named, passed
from horovodize.summary.gradient_flow import GradientFlow
from horovodize.summary.hand_updates import ASSIGNS, HandUpdate, HandUpdates
from horovodize.summary.keras_fits import fits_keras
from horovodize.summary.perturbations import is_taken_back
from horovodize.summary.site_kinds import Compile, Fit, Update
from horovodize.summary.tf1_sites import Tf1Sites
from horovodize.summary.undone_steps import Undone, UndoneSteps

if TYPE_CHECKING:
    from horovodize.summary.estimators import Estimators

MODEL = "tensorflow.keras.Model"
TAPE = "tensorflow.GradientTape"
_FIT = ("fit", "fit_generator", "train_on_batch")


class Sites(Tf1Sites):
    """All places of a module that have to do with training. Cheap questions first: each list is made when asked for."""

    @cached_property
    def read_estimators(self) -> Estimators:
        """What is known of TensorFlow 1's Estimators. Kept here and nowhere else: it holds all that is known of the module."""
        from horovodize.summary.estimators import Estimators

        return Estimators(self.module, self)

    # ------------------------------------------------------------------ Keras

    @cached_property
    def fits(self) -> list[Fit]:
        if not self.module.tensorflow_imports:
            return []
        found = []
        for call in self.method_calls(*_FIT):
            assert isinstance(call.func, ast.Attribute)
            if self.fits_keras(call):
                found.append(Fit(call, call.func.attr))
        return found

    def fits_keras(self, call: ast.Call) -> bool | None:
        """Whether a `fit` is that of a Keras model; None: of one of `tf.contrib.learn`'s estimators."""
        return fits_keras(self.module, call, [c.model for c in self._raw_compiles])

    @cached_property
    def _raw_compiles(self) -> list[Compile]:
        m, found = self.module, []
        for call in self.method_calls("compile"):
            if m.names.of(call.func) in ("re.compile", "regex.compile", "builtins.compile"):
                continue
            own = isinstance(
                m.values.callee(call), FUNCTIONS
            )  # a `compile` of this module: its first argument may be anything
            given = [v for v in [passed(m, call, "optimizer", None if own else 0)] if v is not None]
            given += [
                value
                for name, value in named(m, call).items()
                if name != "optimizer" and re.search(r"opt(im(izer)?)?s?$", name)
            ]
            given += [
                a for a in call.args[0 if own else 1 :] if isinstance(a, (ast.Name, ast.Attribute, ast.Call)) and any(
                    m.is_optimizer(c) for c in m.values.calls(a))
            ]  # fmt: skip
            found.append(Compile(call, tuple(dict.fromkeys(given))))
        return found

    @cached_property
    def compiles(self) -> list[Compile]:
        """`compile` calls of Keras models."""
        keywords = {"optimizer", "loss", "metrics"}
        return [
            c
            for c in self._raw_compiles
            if c.optimizers
            or {k.arg for k in c.call.keywords} & keywords
            or any(k.arg is None for k in c.call.keywords)
        ]

    def own_step(self, model: ast.expr) -> ast.ClassDef | None:
        """The class of this module that a model is an instance of, if it applies gradients of a tape in a `train_step` of its
        own. (One that calls `super().train_step` or `minimize` leaves the gradients to the optimizer.)"""
        m = self.module
        for made in m.values.calls(model):
            cls = m.values.callee(made)
            if isinstance(cls, ast.ClassDef):
                family = m.values.family(cls)
                for update in self.updates:
                    if update.step_of in family and update.method == "apply_gradients":
                        return update.step_of
        return None

    # ------------------------------------------------------------------ updates

    @cached_property
    def updates(self) -> list[Update]:
        """Where variables are trained by gradients at once: by an optimizer, or by hand where that can be distributed."""
        return [*self._optimizer_updates, *self._updates_by_hand()]

    def update_of(self, call: ast.Call) -> Update | None:
        """The update that a call is; None where it is none."""
        return next((u for u in self.updates if u.call is call), None)

    @cached_property
    def gradient_moves(self) -> set[ast.Call]:
        """The calls that move variables by gradients, to train them or to come back."""
        return {call for step in self._by_hand for call in step.calls}

    @cached_property
    def _undone(self) -> UndoneSteps:
        return UndoneSteps(self.module)

    @cached_property
    def hand_updates(self) -> list[HandUpdate]:
        """Variables that are updated by hand from a tape's gradients."""
        steps = (step for step in self._by_hand if step.gradient not in self.moving_gradients)
        return [
            step for step in steps if not self._is_undone(step.calls, [argument(step.gradient, "sources", 1)])
        ]

    @cached_property
    def moving_gradients(self) -> list[ast.Call]:
        """The gradients by which variables are moved, and moved or set back before an optimizer's update of the same function,
        by the gradient of the same loss there."""
        training = [u for u in self._optimizer_updates if u.gradients]
        functions = {self.module.syntax.function(u.call) for u in self._optimizer_updates}
        return [
            step.gradient
            for step in self._by_hand
            if self.module.syntax.function(step.gradient) in functions
            and (
                is_taken_back(self.module, step.calls, self.flow.appended)
                or (
                    any(self._is_same_loss(step.gradient, g) for u in training for g in u.gradients)
                    and self._is_undone(step.calls, [argument(step.gradient, "sources", 1)])
                )
            )
        ]

    def _is_same_loss(self, gradient: ast.Call, other: ast.Call) -> bool:
        """Whether two gradients are of one loss of one batch: sharpness-aware, unlike those of two tasks."""
        texts = [self._loss_text(g) for g in (gradient, other)]
        return gradient is not other and bool(texts[0]) and texts[0] == texts[1]

    def _loss_text(self, gradient: ast.Call) -> str:
        """How the loss is computed whose gradient is taken; "" where that isn't seen."""
        target = argument(gradient, "target", 0)
        if not isinstance(target, ast.Name):
            return ast.unparse(target) if target is not None else ""
        bound = self.module.scopes.reaching(target)
        is_one = len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path
        return ast.unparse(bound[0].value) if is_one and bound[0].value is not None else ""

    @cached_property
    def _by_hand(self) -> list[HandUpdate]:
        if not self.tapes:
            return []
        finder = HandUpdates(self.module, self.flow.gradient_calls, self.flow.appended)
        return finder.find(
            c for c in self.method_calls(*ASSIGNS) if not self._gathers(c) and not self.passes(c)
        )

    def passes(self, call: ast.Call) -> bool:
        """Whether a call assigns to a variable that a function makes of what it is given, beside steps that train others: a
        sample that follows the gradient of an energy, an adversarial example. It is gone when the function returns."""
        assert isinstance(call.func, ast.Attribute)
        variable = call.func.value
        bindings = self.module.scopes.reaching(variable) if isinstance(variable, ast.Name) else []
        function = self.module.syntax.function(call)
        trains = [self.module.syntax.function(u.call) for u in self._optimizer_updates]
        if not trains or function in trains or not bindings or not isinstance(function, FUNCTIONS):
            return False
        given = {
            a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        } - {"self"}
        return all(
            isinstance(b.value, ast.Call)
            and self.module.names.last(b.value.func) == "Variable"
            and self.module.syntax.function(b.statement) is function
            and any(isinstance(n, ast.Name) and n.id in given for n in ast.walk(b.value))
            for b in bindings
        )

    def _updates_by_hand(self) -> Iterator[Update]:
        for step in self.hand_updates:
            sources = argument(step.gradient, "sources", 1)
            if self.is_distributable(step) and sources is not None:
                variables = _variables(self.module, sources)
                yield Update(step.site, "assign", (step.gradient,), variables, None)

    def updates_in(self, statement: ast.stmt) -> bool:
        """Whether a statement is a `for` that updates the variables of one step by hand, one in each turn."""
        return isinstance(statement, ast.For) and any(s.site is statement.iter for s in self.hand_updates)

    def is_distributable(self, step: HandUpdate) -> bool:
        """Whether it is known what an update by hand does, and nothing else updates in this module."""
        alone = not self._optimizer_updates and not self.builds_graph
        return step.changes is not None and alone and self._step_of(step.gradient) is None

    @cached_property
    def _optimizer_updates(self) -> list[Update]:
        """`apply_gradients` and eager `minimize` (of a function or a tape), not those that build a graph for a session, and
        whose steps last."""
        return [u for u in self._optimizer_steps if not self._is_undone((u.call,), u.variables, u.optimizer)]

    def _is_undone(
        self, calls: Sequence[ast.Call], variables: Sequence[ast.expr | None], by: ast.expr | None = None
    ) -> bool:
        """Whether weights are set back after a step, before an update by gradients that were taken in between; that of another
        optimizer, whose rate isn't that of the step.

        by: the optimizer that takes the step; None where it is taken by hand"""
        around = [self._undone.around(call) for call in calls]
        if not calls or not variables or not all(around):
            return False
        return all(
            any(v is not None and self._undone.is_of(undone, v) for v in variables)
            and any(self._comes_of(undone, update, by) for update in self._optimizer_steps)
            for found in around
            for undone in found
        )

    def _comes_of(self, undone: Undone, update: Update, by: ast.expr | None) -> bool:
        """Whether an update that lasts is by gradients that were taken in between."""
        if (
            by is not None
            and update.optimizer is not None
            and ast.unparse(by) == ast.unparse(update.optimizer)
        ):
            return False
        is_among = self._undone.is_among
        taken = any(is_among(undone.between, g) for g in update.gradients)
        return taken and not is_among(undone.since, update.call)

    @cached_property
    def _optimizer_steps(self) -> list[Update]:
        found = []
        for call in self.method_calls("apply_gradients", "minimize"):
            assert isinstance(call.func, ast.Attribute)
            if call.func.attr == "minimize" and not self._eager_minimize(call):
                continue
            if self.is_handed_on(call):
                continue
            if call.func.attr == "apply_gradients" and (
                self.builds_graph or self._from_compute_gradients(call)
            ):
                continue
            found.append(self._update(call))
        return [*found, *self._applied()]

    def _applied(self) -> Iterator[Update]:
        """`optimizer.apply(gradients, variables)` of Keras 3. Many things have an `apply`: this one is given a tape's
        gradients, and the variables with them, or is an optimizer's. In an `apply` of this module's own that is no
        optimizer's, what updates stands in its body."""
        for call in self.method_calls("apply") if self.tapes else ():
            if self.is_handed_on(call):
                continue
            gradients = argument(call, "grads", 0)
            calls = self.flow.gradient_calls(gradients) if gradients is not None else []
            given = argument(call, "trainable_variables", 1)
            assert isinstance(call.func, ast.Attribute)
            optimizer = any(map(self.module.is_optimizer, self.module.values.calls(call.func.value)))
            foreign = not isinstance(self.module.values.callee(call), FUNCTIONS)
            if calls and (optimizer or (foreign and given is not None)):
                sources = [given] if given is not None else [argument(g, "sources", 1) for g in calls]
                variables = tuple(v for s in sources if s is not None for v in _variables(self.module, s))
                yield Update(call, "apply_gradients", tuple(calls), variables, self._step_of(call))

    @cached_property
    def eager_updates(self) -> set[ast.Call]:
        """The calls of `apply_gradients` and `minimize` that train at once."""
        return {u.call for u in self._optimizer_updates}

    def _eager_minimize(self, call: ast.Call) -> bool:
        m = self.module
        if (m.names.of(call.func) or "").startswith("scipy") or (not call.args and not call.keywords):
            return False
        if argument(call, "tape") is not None:
            return True
        loss = argument(call, "loss", 0)
        if loss is None:
            return False
        return isinstance(loss, ast.Lambda) or any(
            isinstance(o.node, CALLABLES) and not o.path for o in m.values.origins(loss)
        )

    def _from_compute_gradients(self, call: ast.Call) -> bool:
        pairs = argument(call, "grads_and_vars", 0)
        if pairs is None or not self.method_calls("compute_gradients"):
            return False
        return any(
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "compute_gradients"
            for n in self.module.values.depends([pairs], 800)
        )

    def _update(self, call: ast.Call) -> Update:
        assert isinstance(call.func, ast.Attribute)
        step_of = self._step_of(call)
        if call.func.attr == "minimize":
            variables = argument(call, "var_list", 1)
            return Update(
                call,
                "minimize",
                (),
                _variables(self.module, variables) if variables is not None else (),
                step_of,
            )
        pairs = argument(call, "grads_and_vars", 0)
        if pairs is None:
            return Update(call, "apply_gradients", (), (), step_of)
        gradients, variables = self._pairs(pairs)
        calls = self.flow.gradient_calls(gradients)
        if variables is None and calls:
            sources = [argument(g, "sources", 1) for g in calls]
            found = tuple(v for s in sources if s is not None for v in _variables(self.module, s))
        else:
            found = _variables(self.module, variables) if variables is not None else ()
        return Update(call, "apply_gradients", tuple(calls), found, step_of)

    def _pairs(self, pairs: ast.expr) -> tuple[ast.expr, ast.expr | None]:
        """Gradients and variables of a `grads_and_vars` argument."""
        m = self.module
        for o in m.values.origins(pairs):
            node = o.node
            while isinstance(node, ast.Call) and m.names.last(node.func) in ("list", "tuple") and node.args:
                node = m.values.origins(node.args[0])[0].node
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "zip"
                and len(node.args) == 2
            ):
                return node.args[0], node.args[1]
            if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                source = node.generators[0].iter
                if source is not pairs:
                    inner = self._pairs(source)
                    if inner[1] is not None:
                        return node, inner[1]
        return pairs, None

    @cached_property
    def flow(self) -> GradientFlow:
        """What gradients are made of."""
        return GradientFlow(self.module, self.method_calls)

    def _gathers(self, call: ast.Call) -> bool:
        """Whether a call assigns to a variable that only gathers gradients which an optimizer applies later."""
        assert isinstance(call.func, ast.Attribute)
        return bool(self._optimizer_updates) and self.flow.accumulators.is_applied(call.func.value)

    def _step_of(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> ast.ClassDef | None:
        """The Keras model class whose `train_step` a node stands in, or alone runs it through helpers."""
        syntax = self.module.syntax
        for a in syntax.ancestors(node):
            if a in self.own_steps:
                return syntax.method_class(a)
        function = syntax.function(node)
        if function is None or function in seen or not self.own_steps:
            return None
        callers = self.module.values.callers(function)
        steps = {self._step_of(call, seen | {function}) for call in callers}
        return steps.pop() if len(steps) == 1 else None

    @cached_property
    def own_steps(self) -> frozenset[Function]:
        """The methods `train_step` of the Keras model classes of this module that `fit` calls with a batch each time."""
        found = set[Function]()
        for f in self.module.syntax.functions:
            owner = self.module.syntax.method_class(f) if f.name == "train_step" else None
            if owner is not None and MODEL in self.module.values.ancestors(owner):
                if not self._called_by_hand(f) or self._is_fit(owner):
                    found.add(f)
        return frozenset(found)

    @cached_property
    def steps_by_hand(self) -> frozenset[Function]:
        """Those of them that loops of this module call, too: `for batch in data: model.train_step(batch)`."""
        return frozenset(f for f in self.own_steps if self._called_by_hand(f))

    def _called_by_hand(self, step: Function) -> bool:
        """Whether a `train_step` is called here by something else than that of a subclass."""
        functions = (self.module.syntax.function(call) for call in self.module.values.callers(step))
        return any(f is None or f.name != "train_step" for f in functions)

    def _is_fit(self, owner: ast.ClassDef) -> bool:
        """Whether an object of a class may be what a `fit` of this module trains."""
        values, family = self.module.values, self.module.values.family(owner)
        made = [[values.callee(call) for call in values.calls(fit.model)] for fit in self.fits]
        return any(not classes or any(c is None or c in family for c in classes) for classes in made)

    # ------------------------------------------------------------------ tapes

    @cached_property
    def tapes(self) -> list[ast.Call]:
        return self.module.calls_of(
            TAPE, "tensorflow.contrib.eager.GradientTape", "tensorflow.eager.GradientTape"
        )

    @cached_property
    def training_gradients(self) -> list[ast.Call]:
        """The `tape.gradient(…)` calls whose gradients reach an optimizer, or move what is trained, each once, in the order of
        the text."""
        found = {*(g for u in self.updates for g in u.gradients), *self.moving_gradients}
        return sorted(found, key=lambda c: (c.lineno, c.col_offset))


def _variables(module: Module, expression: ast.expr) -> tuple[ast.expr, ...]:
    """The parts of a variables expression: `a.trainable_variables + b.trainable_variables` has two."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        return (*_variables(module, expression.left), *_variables(module, expression.right))
    return (expression,)
