"""The kinds of places that train: a model that is fitted, one that is compiled, an update of variables."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from horovodize.python.syntax import argument


@dataclass(frozen=True, eq=False)
class Fit:
    """`model.fit(…)`, `fit_generator` or `train_on_batch` of a Keras model."""

    call: ast.Call
    method: str

    @property
    def model(self) -> ast.expr:
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.value

    @property
    def steps(self) -> ast.expr | None:
        """How many steps, or rows, it is told that an epoch has."""
        steps = argument(self.call, "steps_per_epoch", 1 if self.method == "fit_generator" else None)
        return steps if steps is not None else argument(self.call, "samples_per_epoch")


@dataclass(frozen=True, eq=False)
class Compile:
    """`model.compile(…)`; `optimizers` are the arguments that hold one (GANs pass several), none when it is left out."""

    call: ast.Call
    optimizers: tuple[ast.expr, ...]

    @property
    def model(self) -> ast.expr:
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.value


@dataclass(frozen=True, eq=False)
class Update:
    """`optimizer.apply_gradients(…)` (in Keras 3 also `optimizer.apply(…)`), `optimizer.minimize(…)`, or the end of some
    updates by hand (method "assign").

    gradients   the `tape.gradient(…)` calls whose result is applied
    variables   the expression whose variables are updated, where it can be told
    step_of     the Keras model class whose own `train_step` this belongs to: then `fit` drives it"""

    call: ast.Call
    method: str
    gradients: tuple[ast.Call, ...]
    variables: tuple[ast.expr, ...]
    step_of: ast.ClassDef | None

    @property
    def optimizer(self) -> ast.expr | None:
        """What updates; None for updates by hand."""
        if self.method == "assign":
            return None
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.value
