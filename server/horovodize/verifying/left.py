"""What a run has left in its folder: values in event files, rows of tables, and which files it keeps.

Read from what lies there in the end, whoever wrote it and however. Files are counted by kind (`kind_of`): the numbers in
their names follow epochs, steps, or the time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
_MOST = 50_000_000  # bytes of a file: larger ones are not read
_STEP, _SUMMARY, _VALUE, _TAG = 2, 5, 1, 1  # numbers of fields, in Event, Summary and Summary.Value
_BYTES = 2  # how fields are written that hold bytes
_FIXED = {1: 8, 5: 4}  # and those of a fixed length


@dataclass(frozen=True)
class Left:
    """What lies in a run's folder afterwards and did not before.

    values  how many summaries each tag has in the event files of a folder, by (folder, tag)
    every   by how many steps these are apart, as the event files tell
    rows    how many lines the tables have, by kind
    files   the names of the files that are kept, by kind; without event files"""

    values: dict[tuple[str, str], int] = field(default_factory=dict)
    every: dict[tuple[str, str], float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, set[str]] = field(default_factory=dict)

    @property
    def amounts(self) -> tuple[object, ...]:
        """How much of each it is."""
        return self.values, self.rows, {kind: len(names) for kind, names in self.files.items()}


def kind_of(path: str) -> str:
    """A path without its numbers: time stamps, process ids, epochs and steps. ("h5" is a kind of file.)"""
    return re.sub(r"(?<!\.h)\d+(\.\d+)?", "#", re.sub(r"(events\.out\.tfevents)\..*", r"\1", path))


def numbers_in(path: str) -> list[int]:
    """What `kind_of` leaves out of a file's name, as whole numbers."""
    return [int(number) for number in re.findall(r"(?<!\.h)\d+", path.rpartition("/")[2])]


def left_in(folder: Path, paths: Iterable[str]) -> Left:
    """What files hold, paths being relative to a folder. What can't be read is not counted."""
    steps: dict[tuple[str, str], list[int]] = {}
    rows: Counter[str] = Counter()
    files: dict[str, set[str]] = {}
    for path in paths:
        name = path.replace("\\", "/")
        if "__pycache__" in name or re.search(r"\.tmp|tempstate|_temp/", name):
            continue
        if ".tfevents." in name:
            where = kind_of(name.rpartition("/")[0])
            for step, tag in _summaries(_content(folder / path)):
                steps.setdefault((where, kind_of(tag)), []).append(step)
            continue
        files.setdefault(kind_of(name), set()).add(name)
        if name.endswith(_TABLES):
            lines = _content(folder / path).splitlines()
            rows[kind_of(name)] += sum(bool(line.strip()) for line in lines)
    every = {place: (max(at) - min(at)) / max(1, len(at) - 1) for place, at in steps.items()}
    return Left({place: len(at) for place, at in steps.items()}, every, dict(rows), files)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.stat().st_size <= _MOST else b""
    except OSError:
        return b""


def _summaries(events: bytes) -> Iterator[tuple[int, str]]:
    """The steps and tags of all summaries in an event file, as often as they are there. Each record has a length (8 bytes,
    and 4 of a checksum), an `Event`, and another checksum."""
    at = 0
    while at + 12 <= len(events):
        length = int.from_bytes(events[at : at + 8], "little")
        record = events[at + 12 : at + 12 + length]
        if len(record) < length:
            return
        at += length + 16
        fields = list(_fields(record))
        step = next((value for number, value in fields if number == _STEP and isinstance(value, int)), 0)
        for summary in _bytes(fields, _SUMMARY):
            for value in _bytes(_fields(summary), _VALUE):
                for tag in _bytes(_fields(value), _TAG):
                    yield step, tag.decode("utf-8", "replace")


def _bytes(fields: Iterable[tuple[int, int | bytes]], wanted: int) -> Iterator[bytes]:
    return (value for number, value in fields if number == wanted and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers and values of the fields of a message of Protocol Buffers, without those of a fixed length."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        if key & 7 == _BYTES:
            length, at = _number(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        elif key & 7 in _FIXED:
            at += _FIXED[key & 7]
        elif key & 7 == 0:
            value, at = _number(message, at)
            yield key >> 3, value
        else:
            return


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    found = shift = 0
    while at < len(message):
        byte = message[at]
        found |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            break
    return found, at
