"""Variables that nobody broadcasts: of the file, or of an object that Keras doesn't look through, read by a model. Part of D3.

    frequencies = tf.Variable(tf.random.normal((2, 64)), trainable=False)

    def call(self, x):
        return self.out(tf.sin(x @ frequencies))

`model.variables` has those alone that the model, a layer or a `tf.Module` holds. What these begin with has to be the same on
all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.files.kept import first_value
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.target_networks import HOLDERS, made_of, trained_by
from horovodize.source.nodes import children

_VARIABLE = "tensorflow.Variable"


class UnsentVariables:
    """Which variables nobody broadcasts, besides those that the `losses` of steps are computed with where they are taken."""

    def __init__(self, draft: Draft, losses: Sequence[ast.AST]) -> None:
        self.draft = draft
        self._read_by_losses = set(draft.values.depends(losses))
        steps = [u.call for u in draft.sites.updates]
        variables = [v for u in draft.sites.updates for v in u.variables]
        self._trained, self._beside_trained = set(_trained(draft, variables)), trained_by(draft, variables)
        self._steps = [next(reversed(draft.syntax.loops(s)), draft.syntax.function(s) or s) for s in steps]

    def first_values(self, read: ast.Name | ast.Attribute, made: ast.AST | None) -> Iterator[ast.expr]:
        """What such a variable begins with, by where it is read and what makes it; a graph's are all broadcast."""
        draft = self.draft
        if not isinstance(made, ast.Call) or draft.names.of(made.func) != _VARIABLE or draft.in_graph:
            return
        first = first_value(made)
        if first is not None and not (
            made in self._trained or self._is_held(read, made) or self._is_sent(read, made)
        ):
            yield first

    def _is_held(self, read: ast.Name | ast.Attribute, made: ast.Call) -> bool:
        """Whether a model or a layer has a variable among its own."""
        reads, makes = (self.draft.syntax.method_class(self.draft.syntax.function(e)) for e in (read, made))
        owner = reads if isinstance(read, ast.Attribute) and reads is not None else makes
        return owner is not None and bool(HOLDERS & self.draft.values.ancestors(owner))

    def _is_sent(self, read: ast.AST, made: ast.Call) -> bool:
        """Whether G2 broadcasts a variable: steps read it where they are taken, and what they train isn't computed with it."""
        if made in self._beside_trained or read not in self._read_by_losses:
            return False
        nodes = [frame.node for way in self.draft.drive.ways(read) for frame in way]
        return any(self.draft.syntax.inside(node, step) for node in nodes for step in self._steps)


def _trained(draft: Draft, variables: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """What steps are told to train besides a model's variables: `[B]` of `model.trainable_variables + [B]`, where made."""
    todo, seen = list(variables), set[ast.AST]()
    while todo:
        n = todo.pop()
        if n in seen or isinstance(n, ast.Attribute) and n.attr in OF_MODEL:
            continue
        seen.add(n)
        if isinstance(n, (ast.Name, ast.Attribute)):
            todo += made_of(draft, n)
            todo += draft.sites.flow.appended(n) if isinstance(n, ast.Name) else ()
        elif isinstance(n, ast.Call) and draft.names.of(n.func) == _VARIABLE:
            yield n
        else:
            todo += children(n)


__all__ = ["UnsentVariables"]
