"""Documents: what does not parse says why and where; style is read off the text."""

from __future__ import annotations

import ast
import sys

import pytest

from horovodize.source import Document, Span


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = (1,\ny = 2\n", 0, "never closed"),
        ("def f():\nreturn 1\n", 1, "indented block"),
        ("a = 1\nb = = 2\n", 1, "invalid syntax"),
        ("a = 1\n\tb = 2\n", 1, "unexpected indent"),
        ("s = 'abc\n", 0, "unterminated"),
        ("x = 1\nreturn = 3", 1, "invalid syntax"),
    ],
)
def test_a_syntax_error_is_told_with_its_place(text: str, line: int, said: str) -> None:
    document = Document(text)
    assert document.tree is None
    assert document.problem is not None
    assert said in document.problem.message
    assert document.lines.line_of(document.problem.span.start) == line
    assert 0 <= document.problem.span.start <= document.problem.span.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\nprint 'loss', loss\n",
        "try:\n    train()\nexcept IOError, e:\n    pass\n",
        "exec 'x = 1'\n",
    ],
)
def test_python_2_is_named(text: str) -> None:
    problem = Document(text).problem
    assert problem is not None
    assert "Python 2" in problem.message
    assert "port it to Python 3" in problem.message
    assert "2to3" not in problem.message  # not a part of Python since 3.13


def test_a_plain_syntax_error_is_not_called_python_2() -> None:
    problem = Document("print(1)\nx = = 2\n").problem
    assert problem is not None
    assert "Python 2" not in problem.message


def test_the_place_is_in_characters_where_the_line_has_wide_ones() -> None:
    text = "é = '漢😀'; b = = 2\n"
    problem = Document(text).problem
    assert problem is not None
    assert text[problem.span.start :].startswith("= 2")


def test_null_bytes_are_a_problem_and_no_crash() -> None:
    document = Document("x = 1\n\0\n")
    assert document.tree is None
    assert document.problem is not None
    assert document.problem.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "1" + ")" * 500,
        "x = " + "-" * 20_000 + "1",
        "x = " + "f(" * 3_000 + ")" * 3_000,
        "".join(" " * i + "if x:\n" for i in range(150)),
        "x = " + "+".join(["1"] * 30_000),
        "a" + ".b" * 30_000,
    ],
    ids=["parentheses", "signs", "calls", "blocks", "sum", "attributes"],
)
def test_deep_nesting_does_not_crash(text: str) -> None:
    document = Document(text)
    assert (document.tree is None) == (document.problem is not None)


def test_invalid_escapes_in_the_users_strings_are_not_reported(recwarn: pytest.WarningsRecorder) -> None:
    assert Document("s = '\\d'\n").tree is not None
    assert not recwarn.list


def test_the_problem_lies_in_the_text_at_its_very_end() -> None:
    text = "def f(:"
    problem = Document(text).problem
    assert problem is not None
    assert problem.span in Span(0, len(text))


def test_the_source_of_a_node_is_its_text() -> None:
    document = Document("y = f( a,\n  'é' )  # c\n")
    assert document.tree is not None
    statement = document.tree.body[0]
    assert isinstance(statement, ast.Assign)
    assert document.source(statement.value) == "f( a,\n  'é' )"


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("a\nb\n", "\n"),
        ("a\r\nb\r\n", "\r\n"),
        ("a\rb\r", "\r"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\nb\nc\r\n", "\n"),
        ("no line end", "\n"),
        ("", "\n"),
    ],
)
def test_the_newline_is_what_most_lines_have(text: str, newline: str) -> None:
    assert Document(text).newline == newline


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("if x:\n    pass\n", "    "),
        ("if x:\n  pass\n", "  "),
        ("if x:\n\tpass\n", "\t"),
        ("x = 1\n", "    "),
        ("if x: pass\nwhile y:\n   pass\n", "   "),
        ("class A:\n  def f(self):\n    pass\n", "  "),
        ("x = [\n  1,\n]\ndef f():\n        return 1\n", "        "),
        ("broken(\n", "    "),
    ],
)
def test_the_indent_is_that_of_the_first_block(text: str, unit: str) -> None:
    assert Document(text).indent_unit == unit


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("a = 'x'\nb = 'y'\nc = \"z\"\n", "'"),
        ('a = "x"\nb = "y"\nc = \'z\'\n', '"'),
        ("x = 1\n", '"'),
        ("'''doc'''\na = \"x\"\n", '"'),
    ],
)
def test_the_quote_is_what_most_strings_have(text: str, quote: str) -> None:
    assert Document(text).quote == quote


def test_the_indentation_of_a_statement_leaves_a_form_feed_out() -> None:
    document = Document("if x:\n\f    y = 1\n")
    assert document.tree is not None
    block = document.tree.body[0]
    assert isinstance(block, ast.If)
    assert document.indentation(block.body[0]) == "    "


def test_warnings_filters_of_the_program_are_left_as_they_were() -> None:
    import warnings

    before = list(warnings.filters)
    assert Document("s = '\\d'\n").tree is not None
    assert list(warnings.filters) == before
    assert sys.getrecursionlimit() > 100
