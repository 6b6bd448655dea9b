"""Notebooks as documents: where things are, how edits come back into cells, and what no edit may touch."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horovodize.source import Edit, EditConflict, Place, Span, Untouchable
from horovodize.source.notebook import NotebookDocument, NotebookFile
from tests.source.notebooks import code_cell, document, markdown, notebook, sources


def at(of: NotebookDocument, text: str) -> int:
    return of.text.index(text)


def after(of: NotebookFile, *edits: Edit) -> list[str]:
    return list(sources(of.edited(edits)))


# ---------------------------------------------------------------------- reading


def test_cells_are_one_module_in_order() -> None:
    made = document("import os\n!ls", markdown("no code"), "x = 1", "")
    assert made.tree is not None
    assert [ast.unparse(s) for s in made.tree.body] == ["import os", "0", "x = 1"]
    assert [(made.source(s), s.lineno) for s in made.tree.body] == [("import os", 1), ("0", 2), ("x = 1", 5)]


def test_places_count_cells_of_all_kinds_and_lines_in_the_cell() -> None:
    made = document("a = 1\nb = 2", markdown("text"), "é = 3\n  \nc = 4\n")
    assert made.place(at(made, "b = 2")) == Place(2, 1, 1)
    assert made.place(at(made, "c = 4") + 4) == Place(3, 5, 3)
    assert str(made.place(at(made, "c = 4"))) == "cell 3:3:1"
    assert made.place(at(made, "c = 4")).line_words == "cell 3 line 3"
    assert made.place(len(made.text)) == Place(4, 1, 3)
    assert made.place(at(made, "b = 2") + 6) == Place(2, 6, 1)  # between cells: the end of the one before


def test_lines_of_the_file() -> None:
    text = notebook("a = 1\nb = 2", code_cell("c = 3\nd = 4"))
    made = NotebookFile.from_bytes(text.encode(), "n.ipynb")
    rows = text.split("\n")
    assert rows[made.file_line(at(made, "b = 2")) - 1].strip() == '"b = 2"'
    assert '"c = 3\\nd = 4"' in rows[made.file_line(at(made, "d = 4")) - 1]


def test_no_cells_at_all() -> None:
    for made in (document(), document(markdown("x"))):
        assert made.tree is not None
        assert made.tree.body == []
        assert made.place(0) == Place(1, 1)
        assert made.file_line(0) == 1
        assert made.parts([]) == []
        assert made.edited([]) == made.notebook.with_sources({})


def test_each_cell_has_to_parse_by_itself() -> None:
    made = document("x = 1", "y = (1,", "2)")
    assert made.tree is None
    assert made.problem is not None
    assert "never closed" in made.problem.message
    assert made.place(made.problem.span.start) == Place(1, 5, 2)
    old = document("import os", "print 'x'")
    assert old.problem is not None
    assert "Python 2" in old.problem.message
    assert old.place(old.problem.span.start).cell == 2


def test_commands_are_known_with_their_text() -> None:
    made = document("%env A=1\nx = 1", "!ls")
    assert [made.original(span) for span in made.commands] == ["%env A=1", "!ls"]
    assert [made.text[span.start : span.end].strip() for span in made.commands] == ["0", "0"]


def test_style_is_that_of_the_cells() -> None:
    made = document("if x:\r\n\ty = 1\r\n", "z = 2\r\n")
    assert (made.newline, made.indent_unit) == ("\r\n", "\t")
    assert document("x").newline == "\n"


def test_a_cell_end_separates() -> None:
    made = document("a = 1\nb = 2", "c = 3")
    a, b, c = (at(made, name) for name in ("a =", "b =", "c ="))
    assert (made.separates(a, b), made.separates(b, c)) == (False, True)


# ---------------------------------------------------------------------- editing


def test_edits_come_into_their_cells() -> None:
    made = document("a = 1\n%cd x\nb = 2", markdown("text"), "c = 3")
    end = at(made, "b = 2") + 5
    edits = [
        Edit.insert(at(made, "b = 2"), "new = 0\n"),
        Edit.insert(end, "\nlast = 9"),
        Edit(Span(at(made, "3"), at(made, "3") + 1), "4"),
    ]
    assert after(made, *edits) == ["a = 1\n%cd x\nnew = 0\nb = 2\nlast = 9", "text", "c = 4"]
    assert [part.cell for part in made.parts(edits)] == [1, 3]
    made.verify(edits)


@pytest.mark.parametrize(
    ("cell", "gone", "left"),
    [
        ("a = 1\nb = 2", "b = 2", "a = 1"),
        ("a = 1\nb = 2\n", "b = 2", "a = 1\n"),
        ("a = 1\r\nb = 2", "b = 2", "a = 1"),
        ("a = 1\nb = 2", "a = 1", "b = 2"),
        ("a = 1", "a = 1", ""),
    ],
)
def test_a_line_that_is_deleted_takes_one_line_end_along(cell: str, gone: str, left: str) -> None:
    made = document("x = 0", cell, "y = 0")
    whole = made.lines.span(made.lines.line_of(at(made, gone)))
    assert after(made, Edit(whole, "")) == ["x = 0", left, "y = 0"]


def test_an_edit_over_the_end_of_a_cell_is_refused() -> None:
    made = document("a = 1", "b = 2")
    for edit in (
        Edit(Span(0, at(made, "b")), "x"),
        Edit(Span(0, len(made.text)), ""),
        Edit(Span(0, 6), "x"),
    ):
        with pytest.raises(EditConflict, match="end of the cell"):
            made.parts([edit])


@pytest.mark.parametrize(
    ("cell", "edit"),
    [
        ("!ls -l", Edit(Span(0, 1), "x")),
        ("!ls -l", Edit.insert(1, " + 1")),
        ("x = !ls", Edit(Span(4, 5), "wrapped(_)")),
        ("%time model.fit(x)", Edit.insert(1, "x\n")),
        ("%time model.fit(x)", Edit.insert(16, "\n    y=1,")),  # ends the command's line
        ("%%time\nx = 1", Edit.insert(0, "y = 2\n")),  # is the first line no more
    ],
)
def test_commands_can_t_be_changed(cell: str, edit: Edit) -> None:
    made = document(cell)
    with pytest.raises(Untouchable, match="a command of the notebook") as caught:
        made.verify([edit])
    assert made.place(caught.value.span.start).cell == 1


def test_around_and_behind_commands_there_is_room() -> None:
    made = document("if x:\n  !ls\n%time model.fit(x)")
    fit, end = at(made, "model"), at(made, "model") + len("model.fit(x)")
    edits = [
        Edit.insert(0, "if root:\n  "),
        *(Edit.insert(made.lines.starts[n], "  ") for n in (1,)),
        Edit.insert(fit, "wrapped("),
        Edit.insert(end, ")\nlast = 1"),
    ]
    made.verify(edits)
    assert after(made, *edits) == ["if root:\n  if x:\n    !ls\n%time wrapped(model.fit(x))\nlast = 1"]


def test_a_result_that_does_not_parse_is_an_error() -> None:
    made = document("a = 1", "b = 2")
    with pytest.raises(SyntaxError):
        made.verify([Edit.insert(0, "(")])


# ---------------------------------------------------------------------- a whole cell indented

INDENTED = "\n  if x:\n    y = 1\n\n  %cd z\n  s = '''\nkept'''\n"


def test_an_indented_cell_is_read_as_ipython_does() -> None:
    made = document("x = 0", INDENTED)
    assert made.tree is not None
    assert [ast.unparse(s) for s in made.tree.body[1:]] == ["if x:\n    y = 1", "0", "s = '\\nkept'"]
    assert made.place(at(made, "if x")) == Place(2, 3, 2)
    assert made.place(at(made, "y = 1")) == Place(3, 5, 2)
    assert made.place(at(made, "kept")) == Place(7, 1, 2)


def test_what_is_inserted_there_is_indented_too() -> None:
    made = document("x = 0", INDENTED)
    y = at(made, "y = 1")
    edits = [
        Edit.insert(at(made, "if x"), "new = 1\n\nother = 2\n"),
        Edit(Span(y, y + 5), "z = 2\n  w = 3"),
        Edit.insert(at(made, "kept") + len("kept'''"), "\nlast = 1"),
    ]
    made.verify(edits)
    expected = "\n  new = 1\n\n  other = 2\n  if x:\n    z = 2\n    w = 3\n\n  %cd z\n  s = '''\nkept'''\n  last = 1\n"
    assert after(made, *edits) == ["x = 0", expected]
    assert after(made) == ["x = 0", INDENTED]


def test_a_comment_that_is_indented_is_no_indented_cell() -> None:
    made = document("  # note\nif x:\n  y = 1")
    assert made.place(at(made, "y = 1")) == Place(3, 3, 1)


# ---------------------------------------------------------------------- any cells

_CELLS = st.lists(
    st.lists(
        st.sampled_from(
            ["x = 1", "  y = 2", "if x:", "    z", "!ls", "%time f(x)", "%%bash", "s = '''", "'''", "(", "é = '😀'",
             "y = !ls", "f?", "", "  ", "\tt = 1", "# c", "\\", "\ud800", "\0"]
        ),
        max_size=6,
    ).map("\n".join),
    max_size=5,
)  # fmt: skip


@given(_CELLS, st.integers())
def test_no_cells_are_too_odd(cells: list[str], seed: int) -> None:
    text = notebook(*cells).encode("utf-8", "surrogatepass")
    try:
        made = NotebookFile.from_bytes(text, "n.ipynb")
    except ValueError:
        assert "\ud800" in "".join(cells)  # half a character is no text
        return
    assert made.edited([]) == text
    chance = random.Random(seed)
    offset = chance.randrange(len(made.text) + 1)
    assert made.place(offset).line >= 1
    assert 1 <= made.file_line(offset) <= text.count(b"\n")
    if made.tree is None:
        assert made.problem is not None
        return
    for statement in made.tree.body:
        parsed = ast.parse(made.source(statement))
        assert ast.dump(parsed.body[0]) == ast.dump(statement)
    tops = [s for s in made.tree.body if made.starts_line(s) and made.indentation(s) == ""]
    edits = [Edit.insert(made.span(s).start, "new = 1\n") for s in tops]
    edits = [e for e in edits if not any(c.start < e.span.start < c.end for c in made.commands)]
    inserted = "".join(after(made, *edits)).count("new = 1")
    assert inserted == len(edits)
