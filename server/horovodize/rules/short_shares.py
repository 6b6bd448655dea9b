"""A dataset divided in one expression: part of D1.

`dataset.shard(hvd.size(), hvd.rank()).take(len(dataset) // hvd.size())` gives all ranks equally many elements, and reads as an
expert would write it. With fewer elements than ranks it gives none; so it is used only for rows of which there are surely
many. Files, batches and rows that may be few are divided by a helper that sees to that."""

from __future__ import annotations

import ast

from horovodize.rules.draft import RANK, SIZE, Draft
from horovodize.rules.shares import PLENTY, feeding
from horovodize.source import Edit
from horovodize.summary import pipeline_counts as counts
from horovodize.summary.dataset_methods import BATCHING, DIRECTORY
from horovodize.summary.syntax import argument

_LENGTHS = (2, 3)  # the version of TensorFlow since which `len(dataset)` works
_PARAMETER = "ds"
_LONG = 16  # letters of a name that a line has three times


def is_short(draft: Draft, place: ast.expr) -> bool:
    """Whether a dataset knows its length, and has surely more elements than there are ranks."""
    pipelines = feeding(draft).pipelines
    if draft.in_graph or not counts.surely_knows_its_length(pipelines, place):
        return False
    version = draft.world.tensorflow
    if version[:1].isdigit() and tuple(int(n) for n in version.split(".")[:2] if n.isdigit()) < _LENGTHS:
        return False
    makers = [e for e in pipelines.trail(place) if isinstance(e, ast.Call)]
    return all(_leaves_plenty(draft, call) for call in makers)


def _leaves_plenty(draft: Draft, call: ast.Call) -> bool:
    """Whether a step of a pipeline gives many elements, if what it is given does."""
    last, known = draft.names.last(call.func), feeding(draft)
    if last in (*BATCHING, *DIRECTORY, "skip", "from_tensors", "list_files", "range"):
        return False
    if last == "from_tensor_slices":
        given = argument(call, "tensors", 0)
        parts = given.elts if isinstance(given, ast.Tuple) else [given] if given is not None else []
        rows = [draft.facts.steps.shapes.rows(part) for part in parts]
        return any(n is not None and n >= PLENTY for n in rows)
    if last == "take":
        count = argument(call, "count", 0)
        number = known.kinds.constant(count) if count is not None else None
        return number is not None and number >= PLENTY
    return True


def share(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    """Divides a dataset on a line after the statement that gives it a name, or where it stands."""
    statement = draft.syntax.statement(place)
    if isinstance(place, ast.Name):
        return (Edit.insert(draft.module.span(place).end, _share_of(place.id), draft.module.span(place)),)
    if isinstance(statement, ast.Assign) and statement.value is place and draft.can_insert(statement):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return (draft.after(statement, [f"{target.id} = {target.id}{_share_of(target.id)}"], level=-1),)
    span, rows = draft.module.span(place), _array(draft, place)
    given = _share_of(rows) if rows is not None else f".apply({function()})"
    return (Edit.insert(span.end, given, span),)


def filled(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    """The share of a dataset of unknown length, filled up with its first elements, on a line after the statement that gives the
    dataset a name; none where there is no such statement."""
    statement = draft.syntax.statement(place)
    if not isinstance(statement, ast.Assign) or statement.value is not place or len(statement.targets) > 1:
        return ()
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not draft.can_insert(statement):
        return ()
    name = target.id
    line = f"{name} = {name}.concatenate({name}.repeat().take({RANK})).shard({SIZE}, {RANK})"
    return (draft.after(statement, [line], level=-1),) if len(name) <= _LONG else ()


def _array(draft: Draft, place: ast.expr) -> str | None:
    """The name of an array whose rows are a dataset's elements."""
    if not isinstance(place, ast.Call) or draft.names.last(place.func) != "from_tensor_slices":
        return None
    given = argument(place, "tensors", 0)
    parts = given.elts if isinstance(given, ast.Tuple) else [given]
    named = (part.id for part in parts if isinstance(part, ast.Name) and draft.facts.steps.shapes.rows(part))
    return next(named, None)


def function() -> str:
    """What gives a rank's share of a dataset, as a function."""
    return f"lambda {_PARAMETER}: {_PARAMETER}{_share_of(_PARAMETER)}"


def _share_of(name: str) -> str:
    return f".shard({SIZE}, {RANK}).take(len({name}) // {SIZE})"


__all__ = ["filled", "function", "is_short", "share"]
