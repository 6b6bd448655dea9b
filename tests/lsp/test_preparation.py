"""What hovers and code actions need is worked out in parts, while nobody types; the parts come to the same as the whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types

from horovodize.distribute import distribute
from horovodize.lsp.analysis import Analysis
from horovodize.lsp.connection import HorovodizeServer
from horovodize.lsp.preparation import prepare
from horovodize.lsp.session import Session
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*/*.py"))


@pytest.mark.parametrize("path", PROGRAMS[::7], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_parts_come_to_the_same_as_the_whole(path: Path) -> None:
    document = Document(path.read_text(encoding="utf-8"), str(path))
    in_parts = Analysis(document, Options())
    parts = 1
    while in_parts.prepare():
        parts += 1
    whole = distribute(summarize(document), Options())
    assert type(in_parts.outcome) is type(whole)
    if isinstance(whole, Plan):
        assert isinstance(in_parts.outcome, Plan)
        assert in_parts.outcome.text == whole.text
        assert parts > 5


class Quiet:
    """A server on which nobody types: what is to be done later is done when it is asked to."""

    def __init__(self, text: str) -> None:
        self.session = Session()
        item = types.TextDocumentItem("file:///w/train.py", types.LanguageKind.Python, 1, text)
        opened = self.session.open(item)
        assert opened is not None
        self.opened = opened
        self.work: dict[Hashable, Callable[[], None]] = {}
        self.garbage = self

    def later(self, key: Hashable, seconds: float, work: Callable[[], None]) -> None:
        self.work[key] = work

    def collect_later(self) -> None:
        """There is little of it here."""


def test_a_part_is_done_at_a_time_and_a_new_version_begins_anew() -> None:
    server = Quiet(PROGRAMS[0].read_text(encoding="utf-8"))
    prepare(cast("HorovodizeServer", cast("Any", server)), server.opened.uri)

    def go_on() -> None:
        (key,) = server.work
        server.work.pop(key)()

    go_on()
    first = server.opened.analysis(Options())
    assert len(server.work) == 1
    server.opened.change(
        2, [types.TextDocumentContentChangeWholeDocument("x = 1\n")], server.session.encoding
    )
    while server.work:
        go_on()
    assert first.prepare()  # it was left off
    assert not server.opened.analysis(Options()).prepare()


def test_a_closed_document_is_left_alone() -> None:
    server = Quiet("x = 1")
    prepare(cast("HorovodizeServer", cast("Any", server)), server.opened.uri)
    server.session.close(server.opened.uri)
    server.work.popitem()[1]()
    assert not server.work
