"""Which optimizer a model is fitted with, and models of classes that a file doesn't show (HVD304)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import position
from horovodize.restrictions.context import Context
from horovodize.summary.site_kinds import Compile

_LIBRARIES = (  # their classes leave the gradients to the optimizer
    "tensorflow.", "keras.", "tf_keras.", "horovod.", "keras_contrib.", "keras_applications.", "efficientnet.",
    "segmentation_models.", "classification_models.", "transformers.", "tensorflow_hub.",
)  # fmt: skip


def is_of_unseen_class(context: Context, model: ast.expr) -> bool:
    """Whether a model is, or may be, of a class of another module, by how that is written: `Conformer(…)`."""
    for made in context.values.calls(model):
        name = context.names.of(made.func) or ""
        last = context.names.last(made.func)
        if context.values.callee(made) is None and name and not name.startswith(_LIBRARIES):
            if last[:1].isupper() and not last.isupper():
                return True
    return False


def last_before(context: Context, fit: ast.Call, compiles: list[Compile]) -> list[Compile]:
    """Of the places that compile a model, the one that surely holds for a `fit`: before it in its block, with none between."""
    syntax = context.syntax
    fitted = syntax.statement(fit)
    block = syntax.block(fitted)
    earlier = [
        c for c in compiles if (s := syntax.statement(c.call)) in block and position(s) < position(fitted)
    ]
    if not earlier:
        return compiles
    last = max(earlier, key=lambda c: position(c.call))
    between = block[block.index(syntax.statement(last.call)) + 1 : block.index(fitted)]
    sites: set[ast.AST] = {c.call for c in compiles if c is not last}
    return compiles if any(context.drive.reaches(s, sites) for s in between) else [last]
