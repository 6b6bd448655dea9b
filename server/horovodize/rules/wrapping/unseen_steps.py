"""Models whose training step can't be seen: of a class of another package, `class Ranking(tfrs.Model)`. Part of K1.

Horovod's wrapper averages what `minimize` computes, as Keras' own step does. A step that takes its gradients from a tape and
applies them, `self.optimizer.apply_gradients(…)`, would train each rank by itself, without an error (measured with Horovod
0.28.1 and the step of TensorFlow Recommenders 0.7). In `averaging` they are averaged where they are applied, unless they are
already. For Keras 3 the wrapper does so by itself.
"""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft

# Packages whose classes leave the gradients to the optimizer, or are no models.
_LEAVING = ("tensorflow", "keras", "tf_keras", "transformers", "abc", "typing", "collections", "horovod")
# Models of other packages that have such a step.
_APPLYING = (
    "tensorflow_recommenders.",
    "tensorflow_similarity.models.",
    "keras_cv.training.",
)


def are_compiled(draft: Draft) -> bool:
    """Whether a model is compiled whose step can't be seen."""
    if draft.keras_3:
        return False
    return any(_is_unseen(draft, made) for c in draft.sites.compiles for made in draft.values.calls(c.model))


def _is_unseen(draft: Draft, made: ast.Call) -> bool:
    """Whether what makes a model is a class with a base of another package, or one of those that are known."""
    cls = draft.values.callee(made)
    if not isinstance(cls, ast.ClassDef):
        return cls is None and (draft.names.of(made.func) or "").startswith(_APPLYING)
    bases = (draft.names.of(base) for member in draft.values.family(cls) for base in member.bases)
    return any(name is not None and name.partition(".")[0] not in _LEAVING for name in bases)


__all__ = ["are_compiled"]
