"""A dataset divided in one expression: part of D1.

`dataset.shard(hvd.size(), hvd.rank()).take(len(dataset) // hvd.size())` gives all ranks equally many elements, and reads as an
expert would write it. With fewer elements than ranks it gives none; so it is used only for rows of which there are surely
many. Files, batches and rows that may be few are repeated first, `.repeat().shard(…).take(max(1, len(dataset) // hvd.size()))`:
then each rank takes one, some the same. That is a line of its own, or part of a line that has room for it; elsewhere a helper
does it."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import LINE, RANK, SIZE, Draft
from horovodize.rules.numbers.shares import PLENTY, feeding
from horovodize.source import Edit
from horovodize.summary import pipeline_counts as counts
from horovodize.summary.dataset_methods import BATCHING, DIRECTORY

_LENGTHS = (2, 3)  # the version of TensorFlow since which `len(dataset)` works
_PARAMETER = "ds"
OF_ROUNDS = f".batch({SIZE}, drop_remainder=True).unbatch().shard({SIZE}, {RANK})"
_EQUALLY = "Equally many on each rank."
_WIDE = 130  # columns of a line that a share is written into, where it spares a function
_LONG = 16  # letters of a name that a line has three times


def has_length(draft: Draft, place: ast.expr) -> bool:
    """Whether `len(…)` of a dataset is surely known, in this version of TensorFlow."""
    pipelines = feeding(draft).pipelines
    if draft.in_graph or not (counts.surely_ends(pipelines, place) or _is_loaded(draft, place)):
        return False
    version = draft.world.tensorflow
    return not version[:1].isdigit() or (
        tuple(int(n) for n in version.split(".")[:2] if n.isdigit()) >= _LENGTHS
    )


def _is_loaded(draft: Draft, place: ast.expr) -> bool:
    """Whether tensorflow_datasets loads it, in a version young enough for Keras 3: that knows how many rows there are."""
    pipelines = feeding(draft).pipelines
    return (
        draft.keras_3
        and counts.is_loaded_in_order(pipelines, place)
        and counts.knows_its_length(pipelines, place)
        and not counts.may_be_endless(pipelines, place)
    )


def is_plenty(draft: Draft, place: ast.expr) -> bool:
    """Whether a dataset has surely more elements than there are ranks."""
    pipelines = feeding(draft).pipelines
    makers = [e for e in pipelines.trail(place) if isinstance(e, ast.Call)]
    return not counts.is_loaded_in_batches(pipelines, place) and all(
        _leaves_plenty(draft, call) for call in makers
    )


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
    """Divides a dataset that knows its length on a line after the statement that gives it a name, or where it stands; nothing
    where that would be a long line."""
    statement, plenty = draft.syntax.statement(place), is_plenty(draft, place)
    if isinstance(place, ast.Name):
        taken = share_of(place.id, plenty=plenty)
        names = draft.syntax.every(ast.Name)
        once = sum(n.lineno == place.lineno and n.id == place.id for n in names) == 1
        short = once and "shard_dataset" not in draft.helpers and _room(draft, place) >= _columns(taken)
        return _inserted(draft, place, taken) if plenty or short else ()
    if isinstance(statement, ast.Assign) and statement.value is place and draft.can_insert(statement):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            line = f"{target.id} = {target.id}{share_of(target.id, plenty=plenty)}"
            room = LINE - len(draft.document.indentation(statement))
            fits = plenty or ("shard_dataset" not in draft.helpers and _columns(line) <= room)
            return (draft.after(statement, [line], level=-1),) if fits else ()
    rows = _array(draft, place)
    if not plenty:
        return ()  # within a line, a helper reads better
    return _inserted(draft, place, share_of(rows, plenty=True) if rows else f".apply({_FUNCTION})")


def _inserted(draft: Draft, place: ast.expr, share: str) -> tuple[Edit, ...]:
    span = draft.module.span(place)
    return (Edit.insert(span.end, share, span),)


def _room(draft: Draft, place: ast.expr) -> int:
    """How many columns a line still has beside what stands in it."""
    return _WIDE - len(draft.document.lines.content(place.lineno - 1))


def _columns(text: str) -> int:
    return len(text.replace(RANK, "hvd.rank()").replace(SIZE, "hvd.size()"))


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


def of_records(draft: Draft, place: ast.expr) -> tuple[Edit, ...]:
    """The share of records or lines of files, of which nobody knows how many there are, in whole rounds of size() elements: on
    a line after the statement that gives the dataset a name, or where it stands."""
    if draft.in_graph or not counts.gives_records(feeding(draft).pipelines, place):
        return ()
    statement, share = draft.syntax.statement(place), OF_ROUNDS
    if isinstance(statement, ast.Assign) and statement.value is place and draft.can_insert(statement):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            line = draft.lines_of(f"{target.id} = {target.id}{share}", comment=_EQUALLY)
            return (draft.after(statement, line, level=-1),)
    return _inserted(draft, place, share) if isinstance(place, (ast.Name, ast.Call)) else ()


def _array(draft: Draft, place: ast.expr) -> str | None:
    """The name of an array whose rows are a dataset's elements."""
    if not isinstance(place, ast.Call) or draft.names.last(place.func) != "from_tensor_slices":
        return None
    given = argument(place, "tensors", 0)
    parts = given.elts if isinstance(given, ast.Tuple) else [given]
    named = (part.id for part in parts if isinstance(part, ast.Name) and draft.facts.steps.shapes.rows(part))
    return next(named, None)


def as_function(draft: Draft, places: list[ast.expr]) -> str:
    """What gives a rank's share of the datasets that a function makes at some places; "" where they may be small."""
    short = all(has_length(draft, place) and is_plenty(draft, place) for place in places)
    return _FUNCTION if short else ""


def share_of(name: str, *, plenty: bool) -> str:
    """What divides a dataset of that name. `plenty`: that it has surely more elements than there are ranks."""
    if plenty:
        return f".shard({SIZE}, {RANK}).take(len({name}) // {SIZE})"
    return f".repeat().shard({SIZE}, {RANK}).take(max(1, len({name}) // {SIZE}))"


_FUNCTION = f"lambda {_PARAMETER}: {_PARAMETER}{share_of(_PARAMETER, plenty=True)}"

__all__ = ["OF_ROUNDS", "as_function", "filled", "has_length", "of_records", "share", "share_of"]
