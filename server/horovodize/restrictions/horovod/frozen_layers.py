"""Layers that each rank draws to be frozen: `random.choice(model.layers).trainable = False` (HVD333).

No broadcast sends which layers are trained: each rank averages gradients of other layers than the rest, or of more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.restrictions.context import Context


def frozen_layers(context: Context, answers: OwnAnswers) -> Iterator[ast.expr]:
    """What is set to be trained or not, where each rank draws which layer that is."""
    for statement in context.syntax.every(ast.Assign):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if (
                isinstance(target, ast.Attribute)
                and target.attr == "trainable"
                and _is_drawn(context, answers, target.value)
            ):
                yield target


def _is_drawn(context: Context, answers: OwnAnswers, layer: ast.expr) -> bool:
    """Whether a layer is drawn, or found at a place that is: `model.layers[np.random.randint(3)]`."""
    if isinstance(layer, ast.Subscript):
        return answers.is_drawn(layer.slice)
    if isinstance(layer, ast.Call):
        return answers.is_drawn(layer)
    bound = context.scopes.reaching(layer) if isinstance(layer, ast.Name) else []
    made = [b.value for b in bound if b.kind in ("assign", "item") and b.value is not None]
    drawing = [e for e in made if isinstance(e, (ast.Call, ast.Subscript))]
    return bool(made) and len(drawing) == len(made) and all(_is_drawn(context, answers, e) for e in drawing)


__all__ = ["frozen_layers"]
