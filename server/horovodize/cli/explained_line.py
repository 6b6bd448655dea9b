"""What a line of the user's becomes when its script is distributed: by which rule, and why."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from horovodize.cli.output import Console
    from horovodize.plan import Change
    from horovodize.running.prepared import Prepared, PreparedFile
    from horovodize.running.source_map import MappedFile

_PLACE = re.compile(r"(?P<path>.+?)(?::(?:cell )?(?P<cell>\d+))?:(?P<line>\d+)")


def is_place(text: str) -> bool:
    """Whether a text is FILE:LINE, or FILE:CELL:LINE of a notebook."""
    found = _PLACE.fullmatch(text)
    return found is not None and ("." in found["path"] or os.sep in found["path"])


def explain_line(arguments: argparse.Namespace, console: Console) -> int:
    """Prints what becomes of a place."""
    from horovodize.running.mapping import source_map
    from horovodize.running.prepared import prepare

    found = _PLACE.fullmatch(arguments.code)
    assert found is not None
    path, line = Path(found["path"]), int(found["line"])
    cell = int(found["cell"]) if found["cell"] else None
    if not path.is_file():
        raise CommandError(f"{path}: no such file")
    if (cell is not None) != (path.suffix == ".ipynb"):
        wanted = "FILE:CELL:LINE" if path.suffix == ".ipynb" else "FILE:LINE"
        raise CommandError(f"{arguments.code}: a place in {path.name} is {wanted}")
    options = Configuration(arguments, console).settings(path.absolute().parent).options
    try:
        prepared = prepare(path, options)
    except OSError as e:
        raise CommandError(f"{path}: cannot be read: {e.strerror or e}") from e
    if prepared.refused:
        return _refused(prepared, str(path), line, cell, console)
    mapped = source_map(prepared).files[-1]
    text = _own_line(mapped, line, cell)
    if text is None:
        raise CommandError(f"{arguments.code}: there is no such line")
    _print(prepared.main, mapped, line, cell, text, console)
    return ExitStatus.OK


def _own_line(mapped: MappedFile, line: int, cell: int | None) -> str | None:
    lines = re.split(r"\r\n|\r|\n", mapped.original)
    first = dict(mapped.cells).get(cell or 0, None if cell is not None else 0)
    if first is None or not 1 <= line <= len(lines) - first:
        return None
    return lines[first + line - 1]


def _print(
    file: PreparedFile, mapped: MappedFile, line: int, cell: int | None, text: str, console: Console
) -> None:
    where = f"{mapped.source}:{f'cell {cell}:' if cell is not None else ''}{line}"
    console.line(console.paint(where, "bold"))
    console.line(f"    {text.strip()}")
    console.line("")
    changes = _changes(file, mapped, line, cell)
    numbers = sorted({*mapped.distributed_lines(line, cell), *_inserted(file, mapped, changes)})
    if not changes:
        console.line("Stays as it is.")
        return
    console.line("becomes")
    for number in numbers:
        origin = mapped.origin(number)
        inserted = origin is not None and origin.inserted
        shown = mapped.line(number)
        console.line(f"    {console.paint(shown, 'green') if inserted else shown}")
    console.line("")
    told: set[tuple[str, str, str]] = set()
    for change in changes:
        if (change.rule, change.what, change.doubt) in told:
            continue
        told.add((change.rule, change.what, change.doubt))
        console.line(f"{console.paint(change.rule.ljust(3), 'cyan')}  {change.what}")
        console.line(f"     {change.why}")
        if not change.sure:
            console.line(f"     {console.paint('to confirm', 'yellow')}: {change.doubt or change.what}")
    console.line("")
    console.message(f"help: horovodize explain {changes[0].rule}")


def _changes(file: PreparedFile, mapped: MappedFile, line: int, cell: int | None) -> list[Change]:
    """The changes that are about a line, or change it."""
    if file.plan is None:
        return []
    found = []
    for change in file.plan.changes:
        spans = [change.span, *(edit.span for edit in change.edits)]
        places = [file.document.place(span.start) for span in spans]
        if any(place.line == line and place.cell == cell for place in places):
            found.append(change)
    return found


def _inserted(file: PreparedFile, mapped: MappedFile, changes: Sequence[Change]) -> list[int]:
    """The lines of the distributed text, from 1, that these changes insert: also where they are about another line than the one
    beside which they stand."""
    known = file.plan.changes if file.plan is not None else ()
    wanted = [own for change, own in zip(known, mapped.changes, strict=False) if change in changes]
    found = []
    for number in range(1, mapped.text.count("\n") + 2):
        origin = mapped.origin(number)
        if origin is not None and origin.inserted and origin.change in wanted:
            found.append(number)
    return found


def _refused(prepared: Prepared, path: str, line: int, cell: int | None, console: Console) -> int:
    here = [p for p in prepared.refused if p.path == path and (p.place.line, p.place.cell) == (line, cell)]
    if all(problem.code == "HVD002" for problem in prepared.refused):
        console.message(
            f"{path}: has no training loop; `horovodize distribute` of a script that imports it shows what becomes of it"
        )
        return ExitStatus.REFUSED
    console.message(f"{path}: can't be distributed{'' if here else ', because of other lines'}:")
    for problem in here or prepared.refused:
        console.at(problem.path, problem.place, problem.code, problem.message)
    return ExitStatus.REFUSED
