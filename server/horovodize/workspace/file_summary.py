"""What an index keeps of one file: small, and the same after a way through JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from horovodize.options import Options
from horovodize.source import Document, UndecodableSource

_MENTIONS = re.compile(rb"tensorflow|keras")
_HINT = "HVD001"  # says that a loop can be distributed: no restriction


@dataclass(frozen=True)
class LoopSummary:
    """A training loop. `line` counts from 1; `function` is "" at module level."""

    kind: str
    line: int
    function: str
    model: str | None
    optimizer: str | None


@dataclass(frozen=True)
class RestrictionSummary:
    """Something that stands in the way of distributing. `line` counts from 1."""

    code: str
    message: str
    line: int


@dataclass(frozen=True)
class FileSummary:
    """What is known of one file. `distributed`: it uses Horovod; `problem`: why it could not be read, or ""."""

    loops: tuple[LoopSummary, ...] = ()
    restrictions: tuple[RestrictionSummary, ...] = ()
    distributed: bool = False
    problem: str = ""

    @property
    def trains(self) -> bool:
        return bool(self.loops)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> FileSummary:
        """Raises KeyError and TypeError for what `to_json` did not make."""
        return FileSummary(
            tuple(LoopSummary(**loop) for loop in data["loops"]),
            tuple(RestrictionSummary(**restriction) for restriction in data["restrictions"]),
            data["distributed"],
            data["problem"],
        )


def mentions_tensorflow(data: bytes) -> bool:
    """Whether a file's bytes name TensorFlow or Keras: only such a file is parsed."""
    return _MENTIONS.search(data) is not None


def summarize_file(data: bytes, path: str, options: Options | None = None) -> FileSummary:
    """What is known of a file by its bytes. Never raises because of them."""
    if not mentions_tensorflow(data):
        return FileSummary()
    try:
        document = Document.from_bytes(data, path)
    except UndecodableSource as e:
        return FileSummary(problem=str(e))
    return summarize_document(document, options)


def summarize_document(document: Document, options: Options | None = None) -> FileSummary:
    """What is known of a document."""
    from horovodize.restrictions import check
    from horovodize.summary import LoopKind, summarize

    summary = summarize(document)
    if summary.problem is not None:
        return FileSummary(problem=summary.problem.message)
    loops = tuple(
        LoopSummary(
            loop.kind.label, document.file_line(loop.span.start), loop.function, loop.model, loop.optimizer
        )
        for loop in summary.loops
    )
    found = check(summary, options or Options()) if loops else []
    restrictions = tuple(
        RestrictionSummary(v.code, v.message, document.file_line(v.span.start))
        for v in found
        if v.code != _HINT
    )
    return FileSummary(loops, restrictions, summary.already is LoopKind.HOROVOD)
