"""Running the command line in this process, with the real engine or with one that answers as a test wants it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from horovodize.cli import main
from horovodize.plan import Change, Note, Plan, Reason, Refusal, Unchanged
from horovodize.restrictions.violation import Violation
from horovodize.source import Document, Edit, Span


@dataclass(frozen=True)
class Result:
    """What a run of the command came to. `raw` is standard output as bytes."""

    status: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()


Run = Callable[..., Result]


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """`run("check", "x.py", stdin=b"…")` in an empty folder, which `tmp_path` is."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "HOROVODIZE_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run_it(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main(arguments)
        except SystemExit as e:  # argparse
            status = e.code if isinstance(e.code, int) else 1
        out, err = capsysbinary.readouterr()
        return Result(status, out, err.decode())

    return run_it


class Engine:
    """An engine that answers by rule of thumb: a file that says "refuse" is refused, one that says "horovod" has nothing to
    do, of others the words "adam" become "wrapped(adam)". What it was asked is kept."""

    def __init__(self) -> None:
        self.options: list[object] = []
        self.violations: list[Violation] = []
        self.sure = True
        self.asked = False  # whether something is asked that is no change
        self.notes: Sequence[Note] = ()

    def distribute(self, summary: object, options: object) -> Plan | Refusal | Unchanged:
        document: Document = summary.document  # type: ignore[attr-defined]
        self.options.append(options)
        text = document.text
        if "refuse" in text:
            at = text.index("refuse")
            return Refusal(document, [Reason("HVD107", "an optimizer hides here", Span(at, at + 6))])
        if "crash" in text:
            raise ZeroDivisionError("deep\ninside")
        if "horovod" in text:
            return Unchanged(document, "it uses Horovod already")
        changes = []
        start = text.find("adam")
        while start >= 0:
            span = Span(start, start + 4)
            edits = Edit.around(span, "wrapped(", ")")
            doubt = "" if self.sure else "is this an optimizer?"
            changes.append(
                Change("K1", "Wrap it", "So that gradients are averaged.", span, edits, self.sure, doubt)
            )
            start = text.find("adam", start + 1)
        if self.asked:
            changes.append(Change("HVD105", "Look", "", Span(0, 6), (), False, "where is it made?"))
        return Plan(document, changes, self.notes)

    def check(self, summary: object, options: object) -> list[Violation]:
        self.options.append(options)
        return self.violations


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Puts the small engine in the place of the real one's last step. Reading and summarising stay real."""
    fake = Engine()
    monkeypatch.setattr("horovodize.distribute.distribute", fake.distribute)
    monkeypatch.setattr("horovodize.restrictions.check", fake.check)
    return fake
