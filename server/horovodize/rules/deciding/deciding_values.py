"""What decides how a program trains, and must be the same on all ranks: numbers of steps, optimizers, layers. Part of G4."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import (
    CALLABLES,
    COMPREHENSIONS,
)
from horovodize.rules.drafting.draft import Draft

_FIT_NUMBERS = (
    "epochs",
    "initial_epoch",
    "steps_per_epoch",
    "batch_size",
    "nb_epoch",
    "samples_per_epoch",
    "validation_split",
)
_FIT_POSITIONS = (2, 3)  # batch_size, epochs
_LAYER_VALUES = ("weights", "name", "seed", "batch_size", "dtype", "trainable")
_HOOKS = ("tensorflow.compat.v1.train.StopAtStepHook", "tensorflow.estimator.TrainSpec")


def numbers(draft: Draft) -> Iterator[ast.expr]:
    """The numbers that `fit`, hooks and Estimators are given."""
    for fit in draft.sites.fits:
        if fit.method == "train_on_batch":
            continue
        yield from (k.value for k in fit.call.keywords if k.arg in _FIT_NUMBERS)
        if fit.method == "fit":
            yield from (fit.call.args[i] for i in _FIT_POSITIONS if i < len(fit.call.args))
    for call in draft.module.calls_of(*_HOOKS):
        yield from (k.value for k in call.keywords if k.arg in ("last_step", "num_steps", "max_steps"))
    for training in draft.sites.read_estimators.trainings:
        yield from (k.value for k in training.said.keywords if k.arg in ("steps", "max_steps"))


def optimizers(draft: Draft) -> Iterator[ast.expr]:
    for compiled in draft.sites.compiles:
        yield from compiled.optimizers
    for update in draft.sites.updates:
        if update.optimizer is not None:
            yield update.optimizer
    yield from draft.sites.graph_optimizers
    yield from draft.sites.read_estimators.optimizers


def layer_values(draft: Draft, layer: ast.Call) -> list[ast.expr]:
    """The settings of a layer, but for those that are written out. `layers.add([x, y])` has none: a function, given what other
    layers compute."""
    if (draft.names.of(layer.func) or "").rpartition(".")[2][:1].islower():
        return []
    keywords = [
        k for k in layer.keywords if k.arg not in _LAYER_VALUES and "initializer" not in (k.arg or "")
    ]
    given = [*layer.args, *(k.value for k in keywords)]
    return [e for e in given if not isinstance(e, ast.Constant)]


def repeated_by(draft: Draft, layer: ast.Call) -> Iterator[ast.expr]:
    """What the loops and comprehensions around a layer go through, in its own function: there is a layer for each item."""
    child: ast.AST = layer
    for a in draft.syntax.ancestors(layer):
        if isinstance(a, CALLABLES):
            return
        if isinstance(a, (ast.For, ast.AsyncFor)) and draft.syntax.field[child] == "body":
            yield a.iter
        elif isinstance(a, COMPREHENSIONS) and not isinstance(child, ast.comprehension):
            yield from (clause.iter for clause in a.generators)
        child = a
