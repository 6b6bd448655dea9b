"""The server's text is the client's, whatever is typed and however columns are counted."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from horovodize.lsp.session import Session
from horovodize.options import Options
from horovodize.source import PositionEncoding

URI = "file:///train.py"
# line ends of each kind, what `str.splitlines` takes for line ends too, and characters of 1 to 4 bytes, 1 to 2 UTF-16 units
PIECES = [
    *("\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028", "\u2029", "\t"),
    *("a", "b = 1", "é", "日本", "🐍", "a\u0301", '"""', ""),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


class Client:
    """An editor's buffer: keeps its text as the protocol says, without any code of the server's."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self.text = text
        self.encoding = encoding

    def position(self, offset: int) -> types.Position:
        before = re.split(r"\r\n|\r|\n", self.text[:offset])
        column = before[-1]
        units = {
            PositionEncoding.UTF8: len(column.encode()),
            PositionEncoding.UTF16: len(column.encode("utf-16-le")) // 2,
            PositionEncoding.UTF32: len(column),
        }
        return types.Position(len(before) - 1, units[self.encoding])

    def edit(self, start: int, end: int, new: str) -> types.TextDocumentContentChangePartial:
        start, end = sorted((self._place(start), self._place(end)))
        change = types.TextDocumentContentChangePartial(
            types.Range(self.position(start), self.position(end)), new
        )
        self.text = self.text[:start] + new + self.text[end:]
        return change

    def _place(self, offset: int) -> int:
        """An offset that has a position: none lies between the halves of a line end."""
        offset = min(offset, len(self.text))
        return offset - 1 if self.text[offset - 1 : offset + 1] == "\r\n" else offset


def opened(text: str, encoding: PositionEncoding = PositionEncoding.UTF16, uri: str = URI) -> Session:
    session = Session(encoding=encoding)
    session.open(types.TextDocumentItem(uri, "python", 1, text))
    return session


def text_of(session: Session) -> str:
    document = session.get(URI)
    assert document is not None
    return document.text


EDITS = st.lists(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), TEXTS), min_size=1, max_size=4), max_size=6
)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from(PositionEncoding), EDITS)
@example("a\r\nb", PositionEncoding.UTF16, [[(1, 1, "\r"), (0, 3, "")]])
@example(
    "a\n\nb", PositionEncoding.UTF16, [[(1, 2, "\r")]]
)  # a CR is put before a LF: two line ends become one
@example("x = 1\f\ny = '\u2028🐍'\nz", PositionEncoding.UTF16, [[(12, 14, "q"), (15, 16, "🐍")]])
def test_text_stays_equal_to_the_clients(
    text: str, encoding: PositionEncoding, notifications: list[list[tuple[int, int, str]]]
) -> None:
    client, session = Client(text, encoding), opened(text, encoding)
    for version, edits in enumerate(notifications, 2):
        session.change(URI, version, [client.edit(*edit) for edit in edits])
        assert text_of(session) == client.text
    document = session.get(URI)
    assert document is not None
    assert document.version == len(notifications) + 1


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from(PositionEncoding), st.integers(0, 60), st.integers(0, 60))
def test_positions_outside_the_text_are_brought_into_it(
    text: str, encoding: PositionEncoding, line: int, character: int
) -> None:
    session = opened(text, encoding)
    place = types.Position(line, character)
    session.change(URI, 2, [types.TextDocumentContentChangePartial(types.Range(place, place), "#")])
    assert text_of(session).replace("#", "", 1) == text


def test_a_range_the_wrong_way_round_is_the_same_range() -> None:
    session = opened("abc\ndef\n")
    backwards = types.Range(types.Position(1, 1), types.Position(0, 1))
    session.change(URI, 2, [types.TextDocumentContentChangePartial(backwards, "-")])
    assert text_of(session) == "a-ef\n"


def test_whole_document_replaced() -> None:
    session = opened("abc\n")
    session.change(URI, 2, [types.TextDocumentContentChangeWholeDocument("x\r\ny\f")])
    assert text_of(session) == "x\r\ny\f"


def test_halves_of_a_character_that_arrive_apart_are_joined() -> None:
    session = opened("s = ''\n")
    for column, half in ((5, "\ud83d"), (6, "\udc0d")):
        place = types.Position(0, column)
        session.change(URI, column, [types.TextDocumentContentChangePartial(types.Range(place, place), half)])
    assert text_of(session) == "s = '🐍'\n"


@pytest.mark.parametrize(
    ("uri", "language"),
    [(URI, "javascript"), (URI, "plaintext"), ("vscode-notebook-cell:/n.ipynb#W0", "python")],
)
def test_what_is_not_ours_is_not_kept(uri: str, language: str) -> None:
    session = Session()
    assert session.open(types.TextDocumentItem(uri, language, 1, "x = 1\n")) is None
    assert session.get(uri) is None


def test_an_untitled_document_is_as_good_as_a_file() -> None:
    session = Session()
    assert session.open(types.TextDocumentItem("untitled:Untitled-1", "python", 1, "x = 1\n")) is not None


def test_changes_of_a_document_that_is_not_open_are_ignored() -> None:
    session = opened("x = 1\n")
    assert session.change("file:///other.py", 2, [types.TextDocumentContentChangeWholeDocument("y")]) is None
    assert session.close(URI)
    assert not session.close(URI)
    assert session.change(URI, 3, [types.TextDocumentContentChangeWholeDocument("y")]) is None


def test_unsaved_is_what_differs_from_what_was_saved_last() -> None:
    session = opened("x = 1\n")
    document = session.get(URI)
    assert document is not None
    assert not document.unsaved
    session.change(URI, 2, [types.TextDocumentContentChangeWholeDocument("x = 2\n")])
    assert document.unsaved
    session.change(URI, 3, [types.TextDocumentContentChangeWholeDocument("x = 1\n")])  # typed back, or undone
    assert not document.unsaved
    session.change(URI, 4, [types.TextDocumentContentChangeWholeDocument("x = 3\n")])
    document.saved()
    assert not document.unsaved


def test_a_version_is_analysed_once() -> None:
    session = opened("x = 1\n")
    document = session.get(URI)
    assert document is not None
    first = document.analysis(Options())
    assert document.analysis(Options()) is first
    assert document.analysis(Options(strict=True)) is not first
    assert document.analysis(Options(strict=True)).summary is first.summary
    session.change(URI, 2, [types.TextDocumentContentChangeWholeDocument("x = 2\n")])
    assert document.analysis(Options()).document.text == "x = 2\n"


def test_the_last_version_that_parses_is_shown() -> None:
    session = opened("x = (\n")
    document = session.get(URI)
    assert document is not None
    assert document.shown(Options()) is None
    for version, text in enumerate(["x = 1\ny = 2\n", "x = (1\ny = 2\n", "x = ((1\ny = 2\n"], 2):
        session.change(URI, version, [types.TextDocumentContentChangeWholeDocument(text)])
        shown = document.shown(Options())
    assert shown is not None
    analysis, drift = shown
    assert analysis.document.text == "x = 1\ny = 2\n"
    assert drift is not None
    assert (drift.old.start, drift.old.end, drift.new.end) == (4, 4, 6)
