"""What size() ranks make of a script's numbers, read from a plan: rates grow, steps and data are divided, batches add up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.plan import Decision, Plan

_BATCH = ("batch", "padded_batch")
_TEXTS = {
    Decision.SCALED: "× size()",
    Decision.SCALED_BY_ROOT: "× √size()",
    Decision.COUNTED: "× size()",
    Decision.DIVIDED: "÷ size()",
    Decision.SHARED: "÷ size()",
    Decision.BATCH: "÷ size()",
}


@dataclass(frozen=True)
class Scaled:
    """A place where size() comes in.

    offset  in the plan's document: after the expression that is meant
    text    what happens to it: "× size()", "÷ size()", "learning_rate=0.001 × size()"
    rule    of the change that does it; "" where nothing is changed and several ranks together make it more
    why     in a sentence
    """

    offset: int
    text: str
    rule: str
    why: str


def scaled(plan: Plan) -> list[Scaled]:
    """The places of a plan for one file (see `file_plans`), in the order of the text, one of each text at an offset."""
    found = [*_changed(plan), *_batches(plan)]
    unique = {(scale.offset, scale.text): scale for scale in reversed(found)}
    return sorted(unique.values(), key=lambda scale: (scale.offset, scale.text))


def _changed(plan: Plan) -> Iterator[Scaled]:
    for change in plan.changes:
        if change.decision in _TEXTS and change.edits:
            text = f"{change.shown} {_TEXTS[change.decision]}".lstrip()
            yield Scaled(change.span.end, text, change.rule, change.why)


def _batches(plan: Plan) -> Iterator[Scaled]:
    """The batch sizes of datasets of which each rank takes its part: a step of all ranks takes so many batches."""
    document = plan.document
    parts = [c.span for c in plan.changes if c.decision is Decision.SHARED]
    divided = any(
        c.decision is Decision.BATCH for c in plan.changes
    )  # all ranks together take the batches of one process
    if document.tree is None or not parts or divided:
        return
    around = [s for s in document.tree.body if any(part in document.span(s) for part in parts)]
    for call in (node for statement in around for node in ast.walk(statement) if isinstance(node, ast.Call)):
        size = _batch_size(call)
        if size is not None and any(part in document.span(call) for part in parts):
            why = "A step takes a batch on every rank: together size() times as much."
            yield Scaled(document.span(size).end, "× size()", "", why)


def _batch_size(call: ast.Call) -> ast.expr | None:
    """The batch size that a call gives: `.batch(32)`, `fit(x, y, batch_size=32)`."""
    named = next((k.value for k in call.keywords if k.arg == "batch_size"), None)
    if named is not None:
        return named
    is_batching = isinstance(call.func, ast.Attribute) and call.func.attr in _BATCH
    return call.args[0] if is_batching and call.args else None
