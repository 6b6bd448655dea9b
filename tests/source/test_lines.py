"""Lines, offsets and positions: the three ways of counting agree, and lines end where Python and editors end them."""

from __future__ import annotations

import ast
import itertools
import tokenize
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source import LineIndex, Position, PositionEncoding, Span

U8, U16, U32 = PositionEncoding.UTF8, PositionEncoding.UTF16, PositionEncoding.UTF32
# What makes counting hard: line ends of each kind and what only looks like one, and characters of 1 to 4 bytes.
PIECES = [
    "a",
    "ab",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\f",
    "\v",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2029",
    "é",
    "ß",
    "漢",
    "😀",
    "e\u0301",
    "\t",
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(texts)
def test_lines_join_to_the_text(text: str) -> None:
    index = LineIndex(text)
    spans = [index.span(line) for line in range(len(index))]
    assert "".join(text[s.start : s.end] for s in spans) == text
    assert all(a.end == b.start for a, b in itertools.pairwise(spans))


@given(texts)
def test_lines_end_where_universal_newlines_end_them(text: str) -> None:
    index = LineIndex(text)
    expected = StringIO(text, newline=None).read().split("\n")  # \n, \r\n, \r and nothing else
    assert [index.content(line) for line in range(len(index))] == expected


@given(texts, st.data())
def test_line_of_is_the_line_whose_span_holds_the_offset(text: str, data: st.DataObject) -> None:
    index = LineIndex(text)
    offset = data.draw(st.integers(0, len(text)))
    line = index.line_of(offset)
    span = index.span(line)
    assert span.start <= offset <= span.end
    assert offset < span.end or offset == len(text)


@pytest.mark.parametrize("encoding", list(PositionEncoding))
@given(text=texts)
def test_positions_come_back_to_their_offsets(encoding: PositionEncoding, text: str) -> None:
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # between the two halves of one line end: no position of its own
        assert index.offset(index.position(offset, encoding), encoding) == offset


@given(texts, st.data())
def test_columns_are_what_the_encoders_say(text: str, data: st.DataObject) -> None:
    index = LineIndex(text)
    offset = data.draw(st.integers(0, len(text)))
    line = index.line_of(offset)
    head = text[index.span(line).start : offset]
    assert index.position(offset, U8) == Position(line, len(head.encode("utf-8")))
    assert index.position(offset, U16) == Position(line, len(head.encode("utf-16-le")) // 2)
    assert index.position(offset, U32) == Position(line, len(head))


@given(texts, st.integers(-3, 60), st.integers(-3, 60), st.sampled_from(list(PositionEncoding)))
def test_any_position_has_an_offset_in_the_text(
    text: str, line: int, character: int, encoding: PositionEncoding
) -> None:
    index = LineIndex(text)
    offset = index.offset(Position(line, character), encoding)
    assert 0 <= offset <= len(text)
    if 0 <= line < len(index):
        span = index.span(line)
        assert span.start <= offset <= span.start + len(index.content(line))


def test_a_column_inside_a_surrogate_pair_means_the_characters_start() -> None:
    index = LineIndex("a😀b")
    assert [index.offset(Position(0, c), U16) for c in range(6)] == [0, 1, 1, 2, 3, 3]
    assert [index.offset(Position(0, c), U8) for c in range(7)] == [0, 1, 1, 1, 1, 2, 3]
    assert [index.offset(Position(0, c), U32) for c in range(4)] == [0, 1, 2, 3]


def test_positions_beyond_a_line_or_the_text_are_clamped() -> None:
    index = LineIndex("ab\r\ncd")
    assert index.offset(Position(0, 99)) == 2
    assert index.offset(Position(9, 0)) == 6
    assert index.offset(Position(-1, 5)) == 0
    assert index.position(-4) == Position(0, 0)
    assert index.position(99) == Position(1, 2)


def test_an_empty_text_has_one_empty_line() -> None:
    index = LineIndex("")
    assert len(index) == 1
    assert index.span(0) == Span(0, 0)
    assert index.position(0) == Position(0, 0)


def test_a_trailing_line_end_opens_an_empty_line() -> None:
    index = LineIndex("a\r")
    assert [index.content(line) for line in range(len(index))] == ["a", ""]


@pytest.mark.parametrize(
    ("source", "texts_of_names"),
    [
        ("é = ü + x", ["é", "ü", "x"]),
        ("s = '😀'; y = x", ["s", "y", "x"]),
        ("a = 1\r\nß = a\r\n", ["a", "ß", "a"]),
        ("a = 1\rb = a\r", ["a", "b", "a"]),
        ("a = 1\n\fb = a\n", ["a", "b", "a"]),
        ("s = '\u2028'; t = s", ["s", "t", "s"]),
        ("a = '''é\n😀''' + b", ["a", "b"]),
    ],
)
def test_spans_of_nodes_are_their_texts(source: str, texts_of_names: list[str]) -> None:
    index = LineIndex(source)
    names = sorted(
        (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)),
        key=lambda n: (n.lineno, n.col_offset),
    )
    spans = [index.node_span(n) for n in names]
    assert [source[s.start : s.end] for s in spans] == texts_of_names


@given(
    st.lists(st.sampled_from(["x", "é", "'😀'", "'漢字'", "\t", " + ", "\f"]), min_size=1, max_size=12).map(
        "".join
    )
)
def test_utf8_columns_of_ast_become_offsets(body: str) -> None:
    source = "pad = '" + body.replace("'", "").replace("\t", " ").replace("\f", "") + "'; name = pad"
    node = ast.parse(source).body[1]
    assert isinstance(node, ast.Assign)
    span = LineIndex(source).node_span(node.targets[0])
    assert source[span.start : span.end] == "name"


@given(
    st.lists(st.sampled_from(["x = 1", "y = 'é😀'", "", "# c\u2028d", "\fz = 2"]), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_line_numbers_are_those_of_python(lines: list[str], newline: str) -> None:
    source = newline.join(lines)
    index = LineIndex(source)
    for node in ast.parse(source).body:
        span = index.node_span(node)
        assert index.line_of(span.start) == node.lineno - 1
        assert source[span.start : span.end] in ("x = 1", "y = 'é😀'", "z = 2")


def test_tokenize_agrees_on_the_columns_of_a_mixed_file() -> None:
    source = "naïve = '😀'  # café\nif naïve:\n\tresult = naïve\n"
    index = LineIndex(source)
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.string.strip():
            row, column = token.start
            start = index.starts[row - 1] + column  # tokenize counts code points
            assert source[start : start + len(token.string)] == token.string


def test_spans_contain_and_overlap() -> None:
    assert Span(2, 4) in Span(2, 6)
    assert Span(2, 7) not in Span(2, 6)
    assert Span(2, 4).overlaps(Span(3, 9))
    assert Span(4, 4).overlaps(Span(2, 4))
    assert not Span(0, 1).overlaps(Span(2, 3))
