"""Orders in which a sequence gives its rows, by what the model says of them: part of D3.

    def on_epoch_end(self):
        self.order = np.argsort(-loss_of(y, model.predict(x)))     # hard rows first

Ranks take turns in the batches of one order. A model with batch-norm statistics says something else on each rank until `fit`
ends, so the orders differ, and rows come twice or never. Keras may call `on_epoch_end` from a thread, where no rank may wait
for another: it is asked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.callbacks.callback_decisions import asks_model
from horovodize.rules.drafting.decisions import Decided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding, is_touched
from horovodize.rules.weights.statistics import may_have_statistics
from horovodize.summary.feeding import Kind

_FAR = 300  # nodes that an order is made of
_WHAT = "Go through the rows in one order on all ranks"
_WHY = "Every rank takes its part of the same order; in orders of their own rows would come twice or never."
_DOUBT = (
    "each rank sorts by what its own model says, whose batch-norm statistics are its own until `fit` ends: sort on rank 0 and "
    "send the order in a callback's `on_epoch_end` (`hvd.broadcast_object`), or sort by what needs no model"
)


def apply(draft: Draft) -> None:
    if draft.in_graph or not may_have_statistics(draft):
        return
    for fed in feeding(draft).fits:
        if fed.x is None or fed.kind is not Kind.SEQUENCE or not is_touched(draft, fed.x):
            continue
        for kept in _selecting(draft, fed.x):
            for b in draft.values.attribute_bindings(kept):
                if b.value is None:
                    continue
                made_of = draft.values.depends([b.value], _FAR)
                own = any(isinstance(n, ast.Call) and asks_model(n) for n in made_of)
                if own and not draft.was(b.value, Decided) and draft.once("measured order", b.statement):
                    draft.ask("D3", b.statement, _WHAT, _WHY, _DOUBT)


def _selecting(draft: Draft, sequence: ast.expr) -> Iterator[ast.Attribute]:
    """The attributes by which a sequence of the program selects the rows of a batch: `self.order` of `x[self.order[i]]`."""
    for made in draft.values.calls(sequence):
        cls = draft.values.callee(made)
        methods = cls.body if isinstance(cls, ast.ClassDef) else []
        for method in (s for s in methods if isinstance(s, FUNCTIONS) and s.name == "__getitem__"):
            for n in ast.walk(method):
                if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Attribute):
                    yield n.value


__all__ = ["apply"]
