"""What the user's file says is shown, never rendered."""

from __future__ import annotations

import pytest

from horovodize.explaining.markup import Markup, code


def rendered(text: str, markdown: bool = True) -> str:
    markup = Markup(markdown)
    markup.paragraph(text)
    return markup.text


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("plain words, learning_rate and 2 * 3", "plain words, learning_rate and 2 \\* 3"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("[click](command:evil)", "\\[click\\](command:evil)"),
        ("__init__", "\\_\\_init\\_\\_"),
        ("# no heading", "\\# no heading"),
        ("1. no list", "1\\. no list"),
        ("call `hvd.size()` once", "call `hvd.size()` once"),
        ("`<b>` and <b>", "`<b>` and \\<b\\>"),
        ("one ` alone", "one \\` alone"),
        ("two\n\nparagraphs", "two paragraphs"),
    ],
)
def test_escaping(text: str, markdown: str) -> None:
    assert rendered(text) == markdown


def test_plain_text_has_no_marks() -> None:
    markup = Markup(markdown=False)
    markup.paragraph(f"Optimizer {code('opt_*')}", strong=True)
    markup.bullets(["C5: scale it"])
    assert markup.text == "Optimizer opt_*\n\n- C5: scale it"


def test_code_can_not_end_its_own_quotes() -> None:
    assert code("x` <b> `y") == "`x <b> y`"
    assert code("f(\n  1)") == "`f( 1)`"
    assert code("``") == ""
