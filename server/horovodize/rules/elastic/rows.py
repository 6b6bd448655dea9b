"""Datasets that are divided whenever they are iterated, and steps of an epoch that can be gone on with."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from horovodize.python.syntax import argument, has_unpacking
from horovodize.rules.drafting.decisions import Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.elastic import names
from horovodize.source import Edit, Span

_UNKNOWN = "elastic training needs to know how many elements there are here; the dataset doesn't tell"
_MEASURED = "the length of an elastic dataset changes with the ranks and can't be asked for"
_ROWS = {"map", "prefetch", "with_options"}  # what keeps a row a row, in order
_BATCHES = ("batch", "padded_batch")


def divide(draft: Draft, place: ast.expr, length_known: bool) -> tuple[Edit, ...]:
    """`rows_left(dataset)`: this rank's share by the ranks that there are whenever it is iterated."""
    if not length_known:
        draft.refuse("HVD006", place, _UNKNOWN)
        return ()
    if not draft.decide(place, Shared("D1")):
        return ()
    for call in draft.syntax.calls:
        measured = draft.names.last(call.func) in ("len", "cardinality") and call.args
        if measured and draft.facts.feeding.pipelines.is_dataset(call.args[0]):
            draft.refuse("HVD006", call, _MEASURED)
    draft.divided = True
    return Edit.around(draft.module.span(place), f"{names.module(draft)}.rows_left(", ")")


def go_on_in_epoch(draft: Draft, loop: ast.For, state: str, tracked: list[str]) -> list[Edit]:
    """The edits by which the steps of an epoch can be gone on with; none where what is left of it can't be told."""
    turns = draft.facts.turn_state
    if turns.handed_on(loop) or loop.orelse or not _begins(draft, loop):
        return []
    if any(c.name not in tracked or c.kind != "metric" for c in turns.changed(loop, tracked)):
        return []
    return _numbers(draft, loop, state) or _batches(draft, loop, state)


def _begins(draft: Draft, loop: ast.For) -> bool:
    """Whether a loop comes first in its epoch, apart from prints: what comes before would run again in the middle."""
    block = draft.syntax.block(loop)
    before = block[: block.index(loop)]
    return all(
        isinstance(s, ast.Expr)
        and isinstance(s.value, ast.Call)
        and draft.names.last(s.value.func) == "print"
        for s in before
    )


def _numbers(draft: Draft, loop: ast.For, state: str) -> list[Edit]:
    """`for i in range(n)`, of which each rank takes its share: the rows are told by their number."""
    span = draft.module.span(loop.iter)
    is_range = isinstance(loop.iter, ast.Call) and draft.names.last(loop.iter.func) == "range"
    if not is_range or not draft.was(loop.iter, Shared):
        return []
    for change in draft.changes:
        if change.edits and all(isinstance(e, Edit) and e.span in span for e in change.edits):
            draft.changes.remove(change)
            written = [draft.new_text(e) for c in draft.changes for e in c.edits]
            for helper, name in [*draft.helpers.items()]:
                if not any(re.search(rf"\b{name}\b", text) for text in written):
                    del draft.helpers[helper]
            return list(Edit.around(span, f"{state}.turns(", ")"))
    return []


def _batches(draft: Draft, loop: ast.For, state: str) -> list[Edit]:
    """A pipeline of rows that are shuffled at once, if at all, and then only put together to batches."""
    pipelines = draft.facts.feeding.pipelines
    places = [e for e in pipelines.trail(loop.iter) if draft.was(e, Shared)]
    if len(places) != 1 or not pipelines.is_dataset(loop.iter):
        return []
    place = places[0]
    before = pipelines.steps(place)
    later = [s for s in pipelines.steps(loop.iter) if s not in before]
    if before or draft.names.last(getattr(place, "func", place)) != "from_tensor_slices":
        return []
    shuffles = [s for s in later if _method(s) == "shuffle"]
    others = [_method(s) for s in later if s not in shuffles]
    batched = [m for m in others if m in _BATCHES]
    plain = all(m in _ROWS or m in _BATCHES for m in others) and not any(
        argument(s, "deterministic") for s in later
    )
    if not plain or len(batched) != 1 or len(shuffles) > 1:
        return []
    edits = [_taken_in(draft, place, shuffles[0])] if shuffles else []
    if None in edits:
        return []
    return [*(e for e in edits if e), *Edit.around(draft.module.span(loop.iter), f"{state}.batches(", ")")]


def _method(step: ast.Call) -> str:
    return step.func.attr if isinstance(step.func, ast.Attribute) else ""


def _taken_in(draft: Draft, place: ast.expr, shuffle: ast.Call) -> Edit | None:
    """`rows_left(dataset).shuffle(1000, seed=1)` → `rows_left(dataset, shuffle=1000, seed=1)`."""
    assert isinstance(shuffle.func, ast.Attribute)
    simple = (
        len(shuffle.args) == 1
        and all(k.arg == "seed" for k in shuffle.keywords)
        and not has_unpacking(shuffle)
    )
    if shuffle.func.value is not place or not simple:
        return None
    closing = draft.module.span(place).end
    for index, change in enumerate(draft.changes):
        if change.rule == "D1" and change.span == draft.module.span(place) and len(change.edits) == 2:
            draft.changes[index] = replace(change, edits=change.edits[:1])
            return Edit(Span(closing, draft.module.span(shuffle.args[0]).start), ", shuffle=")
    return None
