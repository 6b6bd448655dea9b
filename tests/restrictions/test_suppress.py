"""Suppression by comments, and the edit that adds one."""

from __future__ import annotations

import pytest

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.restrictions.suppress import suppressed, suppression_edit
from horovodize.source import Document, Edit
from horovodize.source.edits import apply
from horovodize.summary import summarize
from tests.restrictions.helpers import violations

HEAD = "import tensorflow as tf\nmodel = tf.keras.Sequential([])\n"
FOUND = "model.compile(optimizer=args.optimizer)"
FIT = "\nmodel.fit(x, y)\n"


def _codes(text: str) -> list[str]:
    return [v.code for v in check(summarize(Document(text)), Options()) if v.code != "HVD001"]


def test_without_a_comment_it_is_found() -> None:
    assert _codes(HEAD + FOUND + FIT) == ["HVD105"]


@pytest.mark.parametrize(
    "comment",
    [
        "# horovodize: ignore[HVD105]",
        "# horovodize: ignore[HVD104, HVD105]",
        "# horovodize: ignore[aliased-optimizer]",
        "#horovodize:ignore[ hvd105 ] because it is Adam",
        "# horovodize: ignore",
        "# type: ignore  # horovodize: ignore[HVD105]",
    ],
)
def test_comment_suppresses(comment: str) -> None:
    assert _codes(f"{HEAD}{FOUND}  {comment}{FIT}") == []


@pytest.mark.parametrize(
    "comment",
    [
        "# horovodize: ignore[HVD104]",
        "# horovodize: ignore[]",
        "# horovodize: ignored",
        "# ignore[HVD105]",
        "# horovodize: ignore-file[HVD105]",  # beside code
    ],
)
def test_comment_does_not_suppress(comment: str) -> None:
    assert _codes(f"{HEAD}{FOUND}  {comment}{FIT}") == ["HVD105"]


def test_text_in_a_string_is_no_comment() -> None:
    text = f'{HEAD}model.compile(optimizer=args.optimizer, loss="# horovodize: ignore[HVD105]"){FIT}'
    assert _codes(text) == ["HVD105"]


@pytest.mark.parametrize(
    "lines",
    [
        [
            "model.compile(  # horovodize: ignore[HVD105]",
            "    loss='mse',",
            "    optimizer=args.optimizer,",
            ")",
        ],
        [
            "model.compile(",
            "    loss='mse',",
            "    optimizer=args.optimizer,  # horovodize: ignore[HVD105]",
            ")",
        ],
        [
            "model.compile(",
            "    loss='mse',",
            "    optimizer=args.optimizer,",
            ")  # horovodize: ignore[HVD105]",
        ],
    ],
    ids=["first line", "its own line", "last line"],
)
def test_comment_at_any_of_three_lines(lines: list[str]) -> None:
    assert _codes(HEAD + "\n".join(lines) + FIT) == []


def test_comment_at_another_line_of_the_statement_means_that_line() -> None:
    lines = [
        "model.compile(",
        "    loss='mse',  # horovodize: ignore[HVD105]",
        "    optimizer=args.optimizer,",
        ")",
    ]
    assert _codes(HEAD + "\n".join(lines) + FIT) == ["HVD105"]


@pytest.mark.parametrize("codes", ["", "[HVD105]", "[HVD110,aliased-optimizer]"])
def test_whole_file(codes: str) -> None:
    assert _codes(f"# horovodize: ignore-file{codes}\n{HEAD}{FOUND}{FIT}") == []


def test_whole_file_means_the_codes_it_names() -> None:
    assert _codes(f"# horovodize: ignore-file[HVD110]\n{HEAD}{FOUND}{FIT}") == ["HVD105"]


def test_hint_can_be_suppressed_at_its_loop() -> None:
    text = f"{HEAD}model.compile('sgd')\nmodel.fit(x, y)  # horovodize: ignore[HVD001]\nmodel.fit(x, y)\n"
    assert [v.span.start for v in violations(text, "HVD001")] == [text.rindex("model.fit")]


def test_file_that_does_not_parse() -> None:
    text = "import tensorflow as tf\nx = = 1\n"
    assert _codes(text) == ["HVD003"]
    assert _codes("# horovodize: ignore-file\n" + text) == []


def test_a_loop_that_is_refused_is_not_offered_where_the_reason_is_suppressed() -> None:
    """A comment hides a finding; ranks that may not come to a loop together still don't."""
    text = f"import os\n{HEAD}model.compile('sgd')\nif os.path.getsize('x'):\n    model.fit(x, y)"
    assert violations(text, "HVD001") == []
    assert violations(text + "  # horovodize: ignore[HVD205]\n", "HVD001") == []


# ---------------------------------------------------------------------- the edit


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("model.compile(args.optimizer)", "model.compile(args.optimizer)  # horovodize: ignore[HVD105]"),
        ("model.compile(args.optimizer)   ", "model.compile(args.optimizer)  # horovodize: ignore[HVD105]"),
        (
            "model.compile(args.optimizer)  # noqa",
            "model.compile(args.optimizer)  # noqa  # horovodize: ignore[HVD105]",
        ),
        (
            "model.compile(args.optimizer)  # horovodize: ignore[HVD202]",
            "model.compile(args.optimizer)  # horovodize: ignore[HVD202, HVD105]",
        ),
        (
            "model.compile(args.optimizer)  # horovodize: ignore[] why",
            "model.compile(args.optimizer)  # horovodize: ignore[HVD105] why",
        ),
        (
            'model.compile(args.optimizer, """a\nb""")',
            'model.compile(args.optimizer, """a\nb""")  # horovodize: ignore[HVD105]',
        ),
        (
            "model.compile(args.optimizer, \\\n    'mse')",
            "model.compile(args.optimizer, \\\n    'mse')  # horovodize: ignore[HVD105]",
        ),
        (
            "if model.compile(args.optimizer):\n    pass",
            "if model.compile(args.optimizer):  # horovodize: ignore[HVD105]\n    pass",
        ),
        (
            "model.compile(  # horovodize: ignore[HVD202]\n    args.optimizer\n)",
            "model.compile(  # horovodize: ignore[HVD202, HVD105]\n    args.optimizer\n)",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_edit_suppresses_what_it_is_for(statement: str, expected: str, newline: str) -> None:
    text = f"{HEAD}{statement}{FIT}".replace("\n", newline)
    (violation,) = violations(text, "HVD105")
    result = apply(text, [suppression_edit(Document(text), "HVD105", violation.span)])
    assert result == f"{HEAD}{expected}{FIT}".replace("\n", newline)
    assert _codes(result) == []


def test_edit_at_the_end_of_a_file_without_line_end() -> None:
    text = HEAD + "model.fit(x, y)\nmodel.compile(args.optimizer)"
    (violation,) = violations(text, "HVD105")
    assert apply(text, [suppression_edit(Document(text), "HVD105", violation.span)]).endswith(
        "  # horovodize: ignore[HVD105]"
    )


def test_edit_changes_nothing_where_it_is_suppressed_already() -> None:
    text = f"{HEAD}{FOUND}  # horovodize: ignore[HVD105]{FIT}"
    (violation,) = violations(HEAD + FOUND + FIT, "HVD105")
    edit = suppression_edit(Document(text), "HVD105", violation.span)
    assert isinstance(edit, Edit)
    assert apply(text, [edit]) == text
    assert suppressed(Document(text), violation)
